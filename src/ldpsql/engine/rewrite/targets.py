"""Public. Sees parameters. Aggregates to the sums over people that the reports must give."""

from __future__ import annotations

from ldpsql import domains
from ldpsql.boxes import Weight
from ldpsql.engine.plan import Target
from ldpsql.parser.query import Aggregate
from ldpsql_device.errors import InternalError
from ldpsql_device.schema import Schema


def targets_of(aggregate: Aggregate, schema: Schema) -> tuple[Target, ...]:
    """What an aggregate is computed from: one target for COUNT and SUM, (sum, count) for AVG.

    NULLs are left out as SQL has it: of a dimension by asking only for codes that are not NULL,
    of a public column by its weight. A measure is never NULL.
    """
    if aggregate.column is None:
        return (Target(),)
    if aggregate.function == "COUNT":
        return (_count(aggregate.column, schema),)
    total = _sum(aggregate.column, schema)
    if aggregate.function == "SUM":
        return (total,)
    return (total, _count(aggregate.column, schema))


def _count(column: str, schema: Schema) -> Target:
    if schema.measure(column) is not None:
        return Target()
    index = schema.dimension(column)
    if index is not None:
        return Target(present=index if domains.null_codes(schema.dimensions[index]) else None)
    public = schema.public_column(column)
    if public is None:
        raise InternalError(f"the survey has no column {column!r}")
    return Target(weight=Weight(public.name, "present") if public.nulls == "value" else None)


def _sum(column: str, schema: Schema) -> Target:
    measure = schema.measure(column)
    if measure is not None:
        return Target(measure=measure)
    public = schema.public_column(column)
    if public is None or not public.is_numeric:
        raise InternalError(f"the survey has no numeric column {column!r}")
    return Target(weight=Weight(public.name))
