"""Arrow types of columns, and names in tables of reports; loads none of pyarrow's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql_device.schema import RESERVED_PREFIX, Dimension, Schema
from ldpsql_device.values import Listed

FINGERPRINT_KEY = b"ldpsql.fingerprint"
"""The metadata of a table of reports under which the survey's fingerprint stands."""

ID_COLUMN = f"{RESERVED_PREFIX}id"
"""The column of a table of reports that holds the random id of each."""

ARROW_TYPES: Mapping[str, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""The Arrow type of every type of column."""

HOLDS: Mapping[str, Callable[[pa.DataType], bool]] = {
    "int": pa.types.is_integer,
    "float": lambda kind: pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    "text": lambda kind: kind in (pa.string(), pa.large_string(), pa.string_view()),
    "bool": pa.types.is_boolean,
    "date": pa.types.is_date,
    "timestamp": lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
}
"""Which Arrow types hold values of a type of column as they are."""


def arrow_type(dimension: Dimension) -> pa.DataType:
    """The Arrow type of a dimension's values; a category's depends on what it lists."""
    domain = dimension.domain
    if isinstance(domain, Listed) and domain.type == "category":
        return ARROW_TYPES["text" if isinstance(domain.values[0], str) else "int"]
    return ARROW_TYPES[domain.type]


def arrow_types(schema: Schema) -> dict[str, pa.DataType]:
    """The declared columns of a data file, in the survey's order, with their Arrow types."""
    types = {dimension.name: arrow_type(dimension) for dimension in schema.dimensions}
    for measure in schema.measures:
        types.setdefault(measure.name, pa.float64())
    for column in schema.public:
        types[column.name] = ARROW_TYPES[column.type]
    return types


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds strings, dictionary-encoded or not."""
    return HOLDS["text"](kind.value_type if pa.types.is_dictionary(kind) else kind)


_DAYS = tuple((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def is_far(value: np.datetime64) -> bool:
    """Whether a moment of NumPy is before the year 1 or after 9999."""
    return not 1 <= int(value.astype("M8[Y]").astype(np.int64)) + 1970 <= datetime.max.year


def find_far(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Which dates or timestamps are outside the years 1 to 9999, of which Python has none, shape
    (rows,); infinities are among them."""
    kind = column.type
    per_day = _PER_DAY[kind.unit if pa.types.is_timestamp(kind) else "ms"]
    if pa.types.is_date32(kind):
        per_day = 1
    numbers = column.cast(f"int{kind.bit_width}").fill_null(0).to_numpy(zero_copy_only=False)
    days = numbers // per_day
    far: NDArray[np.bool_] = (days < _DAYS[0]) | (days > _DAYS[1])
    return far
