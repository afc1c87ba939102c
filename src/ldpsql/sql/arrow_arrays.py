"""Arrow's arrays of Python's values, without pandas, and batches of them as tables.

`pyarrow.array` imports pandas where that is installed, to see whether it was given one of its
columns: .2 s once in a process, a quarter of a cold question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOMENTS = {pa.date32(): (date, "M8[D]", "i4"), pa.timestamp("us"): (datetime, "M8[us]", "i8")}
"""Of a type of moments the class of its values, and NumPy's types of them and of their numbers."""


def make_array(values: Sequence[Any] | NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Values as an Arrow array of int64, float64, bool, string, date32 or timestamp("us").

    None and NaN are NULL. TypeError for a text in the place of a moment.
    """
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    known = np.array([value is not None and value == value for value in listed], dtype=bool)  # noqa: PLR0124
    if pa.types.is_string(kind):
        texts = [value.encode() if value is not None else b"" for value in listed]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        content = [pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    elif pa.types.is_boolean(kind):
        content = [_pack([bool(value) for value in listed])]
    else:
        if kind in _MOMENTS:
            own, counted, number = _MOMENTS[kind]
            if not all(value is None or isinstance(value, own) for value in listed):
                raise TypeError(f"not all values are of the type {own.__name__}")
            filled = [own(1970, 1, 1) if value is None else value for value in listed]
            numbers = np.array(filled, dtype=counted).astype(number)
        else:
            filled = [
                value if is_known else 0 for value, is_known in zip(listed, known, strict=True)
            ]
            numbers = np.array(filled, dtype=np.float64 if kind == pa.float64() else np.int64)
        content = [pa.py_buffer(numbers)]
    validity = None if known.all() else _pack(known)
    return pa.Array.from_buffers(kind, len(known), [validity, *content])


def _pack(bits: Sequence[bool] | NDArray[np.bool_]) -> pa.Buffer:
    """Truth values as Arrow keeps them, eight to a byte."""
    return pa.py_buffer(np.packbits(np.asarray(bits, dtype=bool), bitorder="little"))


def read_numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers of a column, shape (n,): float64 with NaN for NULL where there are any, else of
    the column's own type. `to_numpy` imports pandas too."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not len(array):
        return np.zeros(0, array.type.to_pandas_dtype())
    if not array.null_count:
        return np.from_dlpack(array)
    place = slice(array.offset, array.offset + len(array))
    validity, content = array.buffers()
    known = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[place]
    numbers = np.frombuffer(content, dtype=array.type.to_pandas_dtype())[place]
    return np.where(known == 1, numbers, np.nan)


def gather(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Batches of one schema as tables of at least so many rows, but for the last; none is empty."""
    gathered, count = list[pa.RecordBatch](), 0
    for batch in batches:
        gathered.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(gathered)
            gathered, count = [], 0
    if count:
        yield pa.Table.from_batches(gathered)
