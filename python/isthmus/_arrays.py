"""NumPy arrays, torch tensors and numbers as tensors of the library, and back."""

import ctypes
from typing import Any, Iterable, List, Mapping, Sequence, Tuple, Union

from ._library import Error, Tensor

DTYPES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "bool": "bool",
}
NAMES = {numpy: ours for ours, numpy in DTYPES.items()}

Array = Any  # what numpy.asarray takes, or a torch tensor
Sample = Union[Array, Sequence[Array], Mapping[str, Array]]


def numpy() -> Any:
    try:
        import numpy as module
    except ImportError:
        raise Error("arrays need NumPy: pip install numpy, or apt install python3-numpy", "environment") from None
    return module


def as_array(value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return numpy().asarray(value)


def is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or hasattr(value, "detach") or hasattr(value, "__array_interface__")


def fitted(value: Any, row: Mapping[str, Any]) -> Any:
    """An array in the element type of an input, where that loses no kind of numbers; a single row becomes a batch."""
    array = as_array(value)
    shape = row["shape"]
    if array.ndim == len(shape) - 1 and (shape[0] == 1 or row.get("is_dynamic") or isinstance(shape[0], str)):
        array = array[numpy().newaxis]
    wanted = DTYPES.get(row["dtype"])
    if wanted is not None and array.dtype != wanted:
        if not numpy().can_cast(array.dtype, wanted, "same_kind"):
            raise Error(f"input {row['name']}: {array.dtype} given, {wanted} expected")
        array = array.astype(wanted)
    return numpy().ascontiguousarray(array)


def tensors(arrays: Sequence[Any]) -> Tuple[Any, Any]:
    """The arrays as C structs, and what must live as long."""
    structs = (Tensor * len(arrays))()
    sizes = []
    for struct, array in zip(structs, arrays):
        sizes.append((ctypes.c_int64 * max(array.ndim, 1))(*array.shape))
        struct.dtype = NAMES[str(array.dtype)].encode() if str(array.dtype) in NAMES else str(array.dtype).encode()
        struct.sizes = ctypes.cast(sizes[-1], ctypes.POINTER(ctypes.c_int64))
        struct.rank = array.ndim
        struct.data = array.ctypes.data
        struct.bytes = array.nbytes
    return structs, (arrays, sizes)


def array_of(tensor: Tensor) -> Any:
    """A copy of a tensor of the library. bf16, which NumPy has not, becomes float32."""
    np = numpy()
    shape = tuple(tensor.sizes[axis] for axis in range(tensor.rank))
    data = ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b""
    name = tensor.dtype.decode()
    if name == "bf16":
        wide = np.frombuffer(data, "<u2").astype("<u4") << 16
        return wide.view("<f4").reshape(shape)
    return np.frombuffer(data, DTYPES[name]).reshape(shape).copy()


def in_order(item: Sample, rows: Sequence[Mapping[str, Any]]) -> Tuple[List[Any], List[Any]]:
    """One item of the caller's data: an array for each input, and what is left, such as a label."""
    names = [row.get("name", "") for row in rows]
    if isinstance(item, Mapping):
        missing = [name for name in names if name not in item]
        if missing:
            raise Error(f"a sample lacks the input {missing[0]}; it has {', '.join(map(str, item))}")
        return [item[name] for name in names], [item["labels"]] if "labels" in item else []
    items = list(item) if isinstance(item, (tuple, list)) and not (len(rows) == 1 and _is_numbers(item)) else [item]
    if len(items) not in (len(rows), len(rows) + 1):
        raise Error(f"a sample has {len(items)} arrays, and the model {len(rows)} inputs: {', '.join(names)}")
    return items[: len(rows)], items[len(rows) :]


def _is_numbers(item: Sequence[Any]) -> bool:
    return bool(item) and not any(is_array(value) or isinstance(value, (list, tuple)) for value in item)


def split(item: Sample, rows: Sequence[Mapping[str, Any]]) -> Iterable[Tuple[List[Any], List[int]]]:
    """Samples with their labels: a batch of a loader becomes as many samples as the model's own batch asks for."""
    np = numpy()
    values, rest = in_order(item, rows)
    arrays = [fitted(value, row) for value, row in zip(values, rows)]
    count = batches(arrays, rows)
    labels = [int(label) for label in as_array(rest[0]).reshape(-1)] if rest else []
    each = len(labels) // count
    parts = [np.split(array, count) for array in arrays]
    for part in range(count):
        own = [np.ascontiguousarray(array[part]) for array in parts]
        yield own, labels[part * each : (part + 1) * each]


def batches(arrays: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> int:
    """How many of the model's batches the arrays hold; 1 where the model takes them as they are, or not at all."""
    counts = set()
    for array, row in zip(arrays, rows):
        shape = row["shape"]
        fits = shape and isinstance(shape[0], int) and shape[0] > 0 and array.ndim == len(shape)
        counts.add(array.shape[0] // shape[0] if fits and array.shape[0] % shape[0] == 0 else 1)
    return max(counts.pop(), 1) if len(counts) == 1 else 1
