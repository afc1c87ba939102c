"""The columns of relations of estimates, and what DuckDB's binder says of SQL over them."""

from __future__ import annotations

import pyarrow as pa

from ldpsql.parser.query import ROW, Query
from ldpsql_device.columns import ARROW_TYPES, arrow_type
from ldpsql_device.schema import Schema


def relation_types(query: Query, schema: Schema) -> pa.Schema:
    """Names and types of the columns of a base query's relation of estimates.

    The keys, then every measurement; beside each plain value x also x_stderr, x_low and x_high;
    last the row number.
    """
    fields: list[tuple[str, pa.DataType]] = []
    for key in query.keys:
        index, public = schema.dimension(key.column), schema.public_column(key.column)
        if index is not None:
            fields.append((key.name, arrow_type(schema.dimensions[index])))
        elif public is not None:
            fields.append((key.name, ARROW_TYPES[public.type]))
    for column in query.columns:
        ends = ("", "_stderr", "_low", "_high") if column.what == "value" else ("",)
        fields += [(f"{column.name}{end}", pa.float64()) for end in ends]
    return pa.schema([*fields, (ROW, pa.int64())])
