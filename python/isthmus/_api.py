"""Models, programs and statistics."""

import ctypes
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._arrays import Array, Sample, array_of, fitted, in_order, split, tensors
from ._library import (
    ON_OUTPUT,
    Error,
    Handle,
    Progress,
    Watch,
    call,
    checked,
    encoded,
    long_call,
    parsed,
)
from ._report import Report

Path_ = Union[str, "os.PathLike[str]"]


class Model(Handle):
    """A model that is open: a path, or an ExportedProgram of torch."""

    def __init__(self, source: Any):
        if isinstance(source, (str, os.PathLike)):
            super().__init__("model", checked("model_open", encoded(source)))
        elif hasattr(source, "graph_module") and hasattr(source, "graph_signature"):
            super().__init__("model", _open_exported(source))
        else:
            raise TypeError(f"a path or an ExportedProgram is expected, not {type(source).__name__}: torch.export.export "
                            "makes one of a module and example inputs")

    def inspect(self) -> Report:
        """Inputs, outputs, parameters and operators."""
        return Report(parsed(call("model_inspect_json", self)))


def _open_exported(program: Any) -> int:
    import torch

    folder = tempfile.mkdtemp(prefix="isthmus-")
    path = os.path.join(folder, "model.pt2")
    try:
        torch.export.save(program, path)
        return checked("model_open", path.encode())  # the open file stays readable without its name
    finally:
        if os.path.exists(path):
            os.remove(path)
        os.rmdir(folder)


def _opened(model: Any) -> Model:
    return model if isinstance(model, Model) else Model(model)


class Statistics(Handle):
    """What calibration measured, of one model and target."""

    def __init__(self, pointer: int):
        super().__init__("statistics", pointer)

    @property
    def samples(self) -> int:
        return call("statistics_samples", self)

    def save(self, path: Path_) -> None:
        checked("statistics_save", self, encoded(path))


Data = Union[None, str, "os.PathLike[str]", Iterable[Sample]]


class Program:
    """A program file that ExecuTorch loads. It runs NumPy arrays: `scores = program(image)`."""

    def __init__(self, path: Path_):
        self._hold(checked("program_open", encoded(path)))

    def _hold(self, pointer: int) -> "Program":
        self._handle = Handle("program", pointer)
        self._facts: Optional[Report] = None
        self._runner: Optional[Handle] = None  # of a program with states, once it has run
        self._one_at_a_time = threading.Lock()
        return self

    @property
    def report(self) -> Report:
        """What `isthmus compile --json` says; empty for a program that was opened."""
        return Report.taken(call("program_report", self._handle))

    def inspect(self) -> Report:
        """Inputs, outputs, delegates and the nodes inside, host operators, memory."""
        return Report(parsed(checked("program_inspect_json", self._handle)))

    def __bytes__(self) -> bytes:
        size = ctypes.c_size_t()
        start = call("program_bytes", self._handle, ctypes.byref(size))
        return ctypes.string_at(start, size.value)

    def save(self, path: Path_) -> None:
        """Writes the file; an older one survives a failure."""
        checked("program_save", self._handle, encoded(path))

    def run(self, *inputs: Array, **named: Array) -> List[Any]:
        """All outputs. What the states of a model hold after a call is there in the next one, until `reset`; calls of
        such a program wait for each other, those of others run beside each other."""
        if self._facts is None:
            self._facts = self.inspect()
        rows = self._facts["inputs"]
        values, rest = in_order(named if named else inputs, rows)
        if rest:
            raise Error(f"{len(inputs)} inputs given, {len(rows)} expected")
        structs, alive = tensors([fitted(value, row) for value, row in zip(values, rows)])
        outputs: List[Any] = []
        on_output = ON_OUTPUT(lambda index, tensor, _: outputs.append(array_of(tensor[0])))
        if self._facts["state"]:
            with self._one_at_a_time:
                if self._runner is None:
                    self._runner = Handle("runner", checked("runner_new", self._handle))
                checked("runner_run", self._runner, structs, len(rows), on_output, None)
        else:
            checked("program_run", self._handle, structs, len(rows), on_output, None)
        del alive
        return outputs

    def reset(self) -> None:
        """Every state has its initial value again: the next call is the first of a sequence."""
        with self._one_at_a_time:
            if self._runner is not None:
                call("runner_reset", self._runner)

    def __call__(self, *inputs: Array, **named: Array) -> Any:
        """The output, or a tuple where there are several."""
        outputs = self.run(*inputs, **named)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def evaluate(self, reference: Any, data: Data, **options: Any) -> Report:
        return evaluate(self, reference, data, **options)

    def _repr_html_(self) -> str:
        return (self.report or self.inspect())._repr_html_()


def _options(
    target: str,
    watch: Watch,
    *,
    config: Union[None, str, "os.PathLike[str]"] = None,
    float: bool = False,
    shapes: Optional[Mapping[str, Sequence[int]]] = None,
    batch: Optional[int] = None,
    max_batch: Optional[int] = None,
    input_layout: Sequence[str] = (),
    threads: Optional[int] = None,
    finish: Optional[Mapping[str, str]] = None,
) -> Handle:
    options = Handle("options", call("options_new", target.encode()))
    if config is not None:
        text = Path(config).read_text() if isinstance(config, os.PathLike) or config.endswith(".toml") else config
        call("options_set_config", options, text.encode())
    call("options_set_float", options, int(float))
    for name, sizes in (shapes or {}).items():
        array = (ctypes.c_int64 * len(sizes))(*sizes)
        call("options_set_shape", options, name.encode(), array, len(sizes))
    if batch is not None:
        call("options_set_batch", options, batch)
    if max_batch is not None:
        call("options_set_max_batch", options, max_batch)
    if threads is not None:
        call("options_set_threads", options, threads)
    for layout in [input_layout] if isinstance(input_layout, str) else input_layout:
        call("options_add_input_layout", options, layout.encode())
    for name, value in (finish or {}).items():
        call("options_set_finish", options, name.encode(), value.encode())
    call("options_set_progress", options, watch.function, None)
    return options


DATA_OPTIONS = ("max_samples", "sequence", "reproducible")


def _taken(options: Dict[str, Any], names: Iterable[str]) -> Dict[str, Any]:
    return {name: options.pop(name) for name in names if name in options}


def _data(
    source: Data,
    rows: Callable[[], Sequence[Mapping[str, Any]]],
    *,
    max_samples: Optional[int] = None,
    sequence: Optional[int] = None,
    reproducible: bool = False,
    labels: Optional[Iterable[int]] = None,
) -> Handle:
    is_path = isinstance(source, (str, os.PathLike))
    data = Handle("data", call("data_new", encoded(source) if is_path else None))
    if source is not None and not is_path:
        inputs = rows()
        count = 0
        for item in source:
            for arrays, own_labels in split(item, inputs):
                if max_samples is not None and count == max_samples:
                    break
                structs, alive = tensors(arrays)
                checked("data_add_sample", data, structs, len(arrays))
                del alive
                for label in own_labels if labels is None else ():
                    call("data_add_label", data, label)
                count += 1
            if max_samples is not None and count == max_samples:
                break
        if not count:
            raise Error("no samples given: at least one is needed")
    for label in labels if labels is not None else ():
        call("data_add_label", data, int(label))
    if max_samples is not None:
        call("data_set_max_samples", data, max_samples)
    if sequence is not None:
        call("data_set_sequence", data, sequence)
    call("data_set_reproducible", data, int(reproducible))
    return data


def _has_watcher() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class _Bar:
    """tqdm, where it is installed, in a notebook, on a terminal or where it is asked for; else nothing."""

    def __init__(self, progress: Union[None, bool, Progress]):
        self._bar: Any = None
        self.callback: Optional[Progress] = None
        if callable(progress):
            self.callback = progress
        elif progress or (progress is None and _has_watcher()):
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=1.0, bar_format="{l_bar}{bar}| {elapsed}", leave=False)
            self.callback = self._show

    def _show(self, stage: str, fraction: float) -> bool:
        self._bar.set_description(stage, refresh=False)
        self._bar.n = fraction
        self._bar.refresh()
        return True

    def __enter__(self) -> Watch:
        return Watch(self.callback)

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()


def check(model: Any, target: str = "xnnpack", *, progress: Union[None, bool, Progress] = None, **options: Any) -> Report:
    """Where each operator runs and why. Needs no data and takes milliseconds."""
    opened = _opened(model)
    with _Bar(progress) as watch:
        wanted = _options(target, watch, **options)
        return Report.taken(long_call(watch, "check", opened, wanted))


def explain(
    model: Any,
    target: str = "xnnpack",
    node: Optional[str] = None,
    *,
    calibrate: Data = None,
    progress: Union[None, bool, Progress] = None,
    **options: Any,
) -> Report:
    """Where a node runs, in which precision, who shares its scale; an overview without `node`."""
    opened = _opened(model)
    of_data = _taken(options, DATA_OPTIONS)
    data = None if calibrate is None else _data(calibrate, lambda: opened.inspect()["inputs"], **of_data)
    with _Bar(progress) as watch:
        wanted = _options(target, watch, **options)
        name = None if node is None else node.encode()
        return Report.taken(long_call(watch, "explain", opened, wanted, name, data))


def calibrate(
    model: Any, target: str = "xnnpack", data: Data = None, *, progress: Union[None, bool, Progress] = None, **options: Any
) -> Statistics:
    """The statistics of every value over the samples: what `compile` takes in place of the samples."""
    opened = _opened(model)
    given = _data(data, lambda: opened.inspect()["inputs"], **_taken(options, DATA_OPTIONS))
    with _Bar(progress) as watch:
        wanted = _options(target, watch, **options)
        return Statistics(long_call(watch, "calibrate", opened, wanted, given))


def compile(
    model: Any,
    target: str = "xnnpack",
    calibrate: Union[Data, Statistics] = None,
    *,
    output: Optional[Path_] = None,
    progress: Union[None, bool, Progress] = None,
    **options: Any,
) -> Program:
    """Quantizes a model and makes the program that ExecuTorch loads.

    `model` is a path or an ExportedProgram. `calibrate` is typical inputs: an .npz or a folder as the command line
    takes them, statistics, or anything that can be iterated: arrays, tuples with an array for each input, dicts by
    input, batches of a DataLoader; one more element than inputs is a label and ignored. Without it the example inputs
    of the model serve, which is not fit for use.

    Options: config (quant.toml: a path or text), float=True, shapes={"x": (1, 3, 224, 224)}, batch, max_batch,
    input_layout="nhwc", threads, finish={"--vela": path}, max_samples, sequence, reproducible. `progress` is a function
    of a stage's name and a share of it, which ends the work by returning False; True or None shows tqdm where it is
    installed.
    """
    opened = _opened(model)
    of_data = _taken(options, DATA_OPTIONS)
    with _Bar(progress) as watch:
        wanted = _options(target, watch, **options)
        if isinstance(calibrate, Statistics):
            pointer = long_call(watch, "compile_with", opened, wanted, calibrate)
        else:
            data = _data(calibrate, lambda: opened.inspect()["inputs"], **of_data)
            pointer = long_call(watch, "compile", opened, wanted, data)
    program = Program.__new__(Program)._hold(pointer)
    if output is not None:
        program.save(output)
    return program


def evaluate(
    program: Union[Program, Path_],
    reference: Any,
    data: Data,
    *,
    labels: Optional[Iterable[int]] = None,
    threads: Optional[int] = None,
    progress: Union[None, bool, Progress] = None,
    **options: Any,
) -> Report:
    """Accuracy of a program, its agreement with the model in float, and its noise.

    `data` is as for `compile`; one more element than inputs is a label.
    """
    ours = program if isinstance(program, Program) else Program(program)
    opened = _opened(reference)
    given = _data(data, lambda: opened.inspect()["inputs"], labels=labels, **_taken(options, DATA_OPTIONS))
    if options:
        raise TypeError(f"evaluate has no option {next(iter(options))}")
    with _Bar(progress) as watch:
        wanted = _options("", watch, threads=threads)
        return Report.taken(long_call(watch, "program_evaluate", ours._handle, opened, given, wanted))


def targets() -> List[str]:
    return parsed(call("targets_json"))
