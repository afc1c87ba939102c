"""Public. Sees parameters. The Arrow types of a survey's columns, as they come out of answers."""

from __future__ import annotations

import pyarrow as pa

from ldpsql_device.attributes import Dimension

ARROW_TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "category": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


def arrow_type(dimension: Dimension) -> pa.DataType:
    """The type of a dimension's values; a category's depends on what it lists."""
    domain = dimension.domain
    if domain.type == "category" and not isinstance(domain.labels()[0], str):
        return pa.int64()
    return ARROW_TYPES[domain.type]
