"""The C interface (isthmus_c.h) by ctypes, which releases the interpreter lock while a function runs."""

import ctypes
import json
import os
import threading
from ctypes import c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Callable, Optional

from ._build import LIBRARY_FOLDER, SONAME

Progress = Callable[[str, float], Optional[bool]]


class Error(Exception):
    """What Isthmus says about input that it cannot take. `kind` is bad-input, environment or unsupported."""

    kind: str

    def __init__(self, message: str, kind: str = "bad-input"):
        super().__init__(message)
        self.kind = kind


class Cancelled(Error):
    """A progress callback returned False."""


KINDS = ("bad-input", "environment", "unsupported", "cancelled")


class Tensor(ctypes.Structure):
    _fields_ = [
        ("dtype", c_char_p),
        ("sizes", ctypes.POINTER(c_int64)),
        ("rank", c_size_t),
        ("data", c_void_p),
        ("bytes", c_size_t),
    ]


ON_PROGRESS = ctypes.CFUNCTYPE(c_int, c_char_p, c_double, c_void_p)
ON_OUTPUT = ctypes.CFUNCTYPE(None, c_size_t, ctypes.POINTER(Tensor), c_void_p)
TENSORS = ctypes.POINTER(Tensor)
SIZES = ctypes.POINTER(c_int64)
ERROR = ctypes.POINTER(c_void_p)
TEXT = c_void_p  # a char* that the caller frees

# Each function that is used: its result, and its arguments.
FUNCTIONS = {
    "error_get_code": (c_int, [c_void_p]),
    "error_message": (c_char_p, [c_void_p]),
    "error_free": (None, [c_void_p]),
    "text_free": (None, [c_void_p]),
    "version": (c_char_p, []),
    "targets_json": (TEXT, []),
    "model_open": (c_void_p, [c_char_p, ERROR]),
    "model_inspect_json": (TEXT, [c_void_p]),
    "model_free": (None, [c_void_p]),
    "options_new": (c_void_p, [c_char_p]),
    "options_set_config": (None, [c_void_p, c_char_p]),
    "options_set_shape": (None, [c_void_p, c_char_p, SIZES, c_size_t]),
    "options_set_batch": (None, [c_void_p, c_int64]),
    "options_set_max_batch": (None, [c_void_p, c_int64]),
    "options_set_float": (None, [c_void_p, c_int]),
    "options_set_threads": (None, [c_void_p, c_size_t]),
    "options_add_input_layout": (None, [c_void_p, c_char_p]),
    "options_set_finish": (None, [c_void_p, c_char_p, c_char_p]),
    "options_set_progress": (None, [c_void_p, ON_PROGRESS, c_void_p]),
    "options_free": (None, [c_void_p]),
    "data_new": (c_void_p, [c_char_p]),
    "data_add_sample": (c_int, [c_void_p, TENSORS, c_size_t, ERROR]),
    "data_add_label": (None, [c_void_p, c_int64]),
    "data_set_max_samples": (None, [c_void_p, c_size_t]),
    "data_set_sequence": (None, [c_void_p, c_size_t]),
    "data_set_reproducible": (None, [c_void_p, c_int]),
    "data_free": (None, [c_void_p]),
    "report_json": (c_char_p, [c_void_p]),
    "report_page": (TEXT, [c_void_p]),
    "report_free": (None, [c_void_p]),
    "check": (c_void_p, [c_void_p, c_void_p, ERROR]),
    "explain": (c_void_p, [c_void_p, c_void_p, c_char_p, c_void_p, ERROR]),
    "calibrate": (c_void_p, [c_void_p, c_void_p, c_void_p, ERROR]),
    "statistics_samples": (c_size_t, [c_void_p]),
    "statistics_save": (c_int, [c_void_p, c_char_p, ERROR]),
    "statistics_free": (None, [c_void_p]),
    "compile": (c_void_p, [c_void_p, c_void_p, c_void_p, ERROR]),
    "compile_with": (c_void_p, [c_void_p, c_void_p, c_void_p, ERROR]),
    "program_open": (c_void_p, [c_char_p, ERROR]),
    "program_bytes": (c_void_p, [c_void_p, ctypes.POINTER(c_size_t)]),
    "program_report": (c_void_p, [c_void_p]),
    "program_inspect_json": (TEXT, [c_void_p, ERROR]),
    "program_save": (c_int, [c_void_p, c_char_p, ERROR]),
    "program_run": (c_int, [c_void_p, TENSORS, c_size_t, ON_OUTPUT, c_void_p, ERROR]),
    "program_evaluate": (c_void_p, [c_void_p, c_void_p, c_void_p, c_void_p, ERROR]),
    "program_free": (None, [c_void_p]),
    "runner_new": (c_void_p, [c_void_p, ERROR]),
    "runner_run": (c_int, [c_void_p, TENSORS, c_size_t, ON_OUTPUT, c_void_p, ERROR]),
    "runner_reset": (None, [c_void_p]),
    "runner_free": (None, [c_void_p]),
}


def load() -> ctypes.CDLL:
    """ISTHMUS_LIBRARY, the library of the wheel or the one that was installed with this package."""
    here = Path(__file__).parent
    places = [here / "_lib" / SONAME, here / LIBRARY_FOLDER / SONAME]
    found = [str(place) for place in places if place.exists()]
    library = ctypes.CDLL(os.environ.get("ISTHMUS_LIBRARY") or next(iter(found), SONAME))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, f"isthmus_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


LIBRARY = load()


def call(name: str, *arguments: Any) -> Any:
    return getattr(LIBRARY, f"isthmus_{name}")(*arguments)


def version() -> str:
    return call("version").decode()


def taken_text(pointer: int) -> str:
    """A text that is ours to free."""
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        call("text_free", pointer)


def checked(name: str, *arguments: Any) -> Any:
    """Calls a function whose last argument is an error, which becomes an exception."""
    error = c_void_p()
    result = call(name, *arguments, ctypes.byref(error))
    if not error.value:
        return result
    kind, message = KINDS[call("error_get_code", error)], call("error_message", error).decode()
    call("error_free", error)
    raise Cancelled(message, kind) if kind == "cancelled" else Error(message, kind)


class Handle:
    """Owns what a function ending in _free takes."""

    def __init__(self, kind: str, pointer: int):
        self._kind = kind
        self._as_parameter_ = c_void_p(pointer)  # ctypes passes it where the handle is an argument

    def __del__(self) -> None:
        if LIBRARY is not None and hasattr(self, "_as_parameter_"):
            call(f"{self._kind}_free", self)


def encoded(text: Any) -> bytes:
    return os.fsencode(os.fspath(text)) if isinstance(text, os.PathLike) else str(text).encode()


class Watch:
    """The progress of one call. What the callback raises ends the call and is raised again after it."""

    def __init__(self, progress: Optional[Progress]):
        self._progress = progress
        self.raised: Optional[BaseException] = None
        self.is_stopped = False
        self.function = ON_PROGRESS(self._show)

    def _show(self, stage: bytes, fraction: float, _: Any) -> int:
        if self.is_stopped:
            return 0
        try:
            goes_on = self._progress is None or self._progress(stage.decode(), fraction) is not False
        except BaseException as error:  # no exception may pass through C
            self.raised = error
            goes_on = False
        return int(goes_on)


def long_call(watch: Watch, name: str, *arguments: Any) -> Any:
    """Like `checked`. Python handles Ctrl-C in the main thread alone, so that one waits while another calls."""
    if threading.current_thread() is not threading.main_thread():
        return _outcome(watch, lambda: checked(name, *arguments))
    outcome: list = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.append((checked(name, *arguments), None))
        except BaseException as error:
            outcome.append((None, error))
        done.set()

    threading.Thread(target=work, name=f"isthmus {name}").start()
    interrupt: Optional[BaseException] = None
    while not outcome:
        try:
            while not done.wait(0.2):  # not Thread.join, which an interrupt confuses
                pass
        except KeyboardInterrupt as error:
            watch.is_stopped = True
            interrupt = error
    result, error = outcome[0]
    if interrupt is not None:
        raise interrupt

    def finish() -> Any:
        if error is not None:
            raise error
        return result

    return _outcome(watch, finish)


def _outcome(watch: Watch, finish: Callable[[], Any]) -> Any:
    try:
        return finish()
    except Cancelled:
        if watch.raised is not None:
            raise watch.raised from None
        raise


def parsed(pointer: int) -> Any:
    return json.loads(taken_text(pointer))
