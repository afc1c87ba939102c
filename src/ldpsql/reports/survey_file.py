"""Writing the survey file that devices fetch: the inverse of `ldpsql_device.survey`.

Whoever designs a survey runs this; a device does not load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import numpy as np

from ldpsql_device.description import Edges, values_of
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.plan import LARGEST, Integer, Integers, Plan, Varying, declared_fields
from ldpsql_device.schema import (
    LARGEST_WHOLE,
    ROLES,
    Attribute,
    Dimension,
    Measure,
    PublicColumn,
    Schema,
    default_outside,
)
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.survey import ANY_DAY, VERSION, Schedule, canonical
from ldpsql_device.values import Listed, Value

_UPWARD = Context(prec=20, rounding=ROUND_CEILING)


def write_survey(
    table: str,
    schema: Schema,
    guarantee: Guarantee,
    plan: Plan,
    collector: str,
    *,
    previous: str | None = None,
    first: str | None = None,
    shuffled: Shuffled | None = None,
    schedule: Schedule = ANY_DAY,
    author: str | None = None,
    signature: str | None = None,
    label: str | None = None,
) -> str:
    """The canonical JSON of a survey with these parts; see `Survey`."""
    optional = {
        "previous": previous,
        "first": first,
        "author": author,
        "signature": signature,
        "label": label,
    }
    data = {
        "ldpsql_survey": VERSION,
        "table": table,
        "schema": schema_to_json(schema),
        "promise": _write_promise(guarantee, shuffled),
        "plan": plan_to_json(plan),
        "collector": collector,
        **_write_schedule(schedule),
        **{key: value for key, value in optional.items() if value is not None},
    }
    return canonical(data)


def _write_promise(guarantee: Guarantee, shuffled: Shuffled | None) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": guarantee.kind}
    if guarantee.epsilon is not None:
        data["epsilon"] = str(guarantee.epsilon)
    if guarantee.delta:
        # A promise may be rounded to the side that promises less.
        delta = _UPWARD.divide(Decimal(guarantee.delta.numerator), guarantee.delta.denominator)
        data["delta"] = f"{delta:f}"
    if shuffled is not None:
        data["shuffle"] = shuffled.to_json()
    return data


def _write_schedule(schedule: Schedule) -> dict[str, Any]:
    days = {"from": schedule.start, "until": schedule.end}
    validity = {key: day.isoformat() for key, day in days.items() if day is not None}
    return {
        "replay_window": schedule.replay_window,
        **({"validity": validity} if validity else {}),
        **({"period": schedule.period} if schedule.period else {}),
        **({"sample": schedule.sample} if schedule.sample else {}),
    }


def vary(step: int, values: Sequence[int] | Integers) -> Integer:
    """An integer per choice of a step, or the one number that all choices share."""
    column = tuple(np.asarray(values).tolist())
    return column[0] if min(column) == max(column) else Varying(step, column)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as objects, arrays, whole numbers, strings and `true`.

    Every object is its fields by name; those with a default are left out when they have it. Where
    one of several kinds may stand, the key `kind` names it. Whole numbers above 2^53 are decimal
    strings.
    """
    written: dict[str, Any] = _write(plan)
    return written


def _write(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value <= LARGEST else str(value)
    if isinstance(value, tuple):
        # Long columns of plain numbers are written at once.
        if value and set(map(type, value)) == {int} and max(value) <= LARGEST:
            return list(value)
        return [_write(entry) for entry in value]
    written = {"kind": value.kind} if hasattr(value, "kind") else {}
    for name, declared in declared_fields(type(value)).items():
        if (entry := getattr(value, name)) != declared.default:
            written[name] = _write(entry)
    return written


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """The columns as a published survey has them: arrays in order, and no floating point.

    Numbers of float dimensions and bounds of measures are decimal strings, as are whole numbers
    above 2^53.
    """
    keys = schema_to_keys(schema)
    for table in (table for role in ROLES for table in keys[role].values()):
        is_real = table.get("type", "float") == "float"
        for key in ("domain", "edges", "bounds", "sensitive"):
            if key in table:
                table[key] = [_write_number(number, is_real) for number in table[key]]
        if "missing_as" in table:
            table["missing_as"] = _write_number(table["missing_as"], is_real=True)
    return {role: [{"name": name, **table} for name, table in keys[role].items()] for role in ROLES}


def schema_to_keys(schema: Schema) -> dict[str, Any]:
    """The tables [dimension], [measure] and [public] of a survey file; see `Schema.from_keys`."""
    return {
        "dimension": {d.name: _dimension_keys(d) | _shared_keys(d) for d in schema.dimensions},
        "measure": {m.name: _measure_keys(m) | _shared_keys(m) for m in schema.measures},
        "public": {p.name: _public_keys(p) | _shared_keys(p) for p in schema.public},
    }


def _public_keys(column: PublicColumn) -> dict[str, Any]:
    bounds = {} if column.bounds is None else {"bounds": list(column.bounds)}
    return {"type": column.type, **bounds}


def _shared_keys(attribute: Attribute) -> dict[str, Any]:
    keys = {"label": attribute.label, "event": attribute.event}
    return {key: text for key, text in keys.items() if text is not None}


def _measure_keys(measure: Measure) -> dict[str, Any]:
    keys: dict[str, Any] = {"bounds": list(measure.bounds)}
    if measure.levels != 2:
        keys["levels"] = measure.levels
    if measure.rounding != "linear":
        keys["rounding"] = measure.rounding
    if measure.has_null:
        keys["missing"] = "code"
    if measure.missing_as is not None:
        keys["missing_as"] = measure.missing_as
    return keys


def _dimension_keys(dimension: Dimension) -> dict[str, Any]:
    """The keys of a survey file that give a dimension back."""
    domain = dimension.domain
    if isinstance(domain, Listed):
        others = dimension.outside == "other"
        values: Sequence[Value] = domain.recorded[: len(domain.values) - others]
        keys: dict[str, Any] = {} if domain.type == "bool" else {"values": list(values)}
        if domain.merged:
            keys["merged"] = list(domain.merged[: len(values)])
    else:
        values = Edges(domain)
        keys = {key: list(v) if isinstance(v, tuple) else v for key, v in domain.keys}
    keys = {"type": domain.type, **keys}
    if dimension.outside != default_outside(domain):
        keys["outside"] = dimension.outside
    if dimension.has_null:
        keys["missing"] = dimension.missing
    if dimension.sensitive:
        declared = [code for code in dimension.sensitive if code < dimension.declared]
        if isinstance(domain, Listed):
            keys["sensitive"] = [value for code in declared for value in values_of(domain, code)]
        else:
            keys["sensitive"] = [values[code] for code in declared]
        if dimension.has_null and domain.size not in dimension.sensitive:
            keys["sensitive_missing"] = False
    return keys


def _write_number(number: Any, is_real: bool) -> Any:
    """A number of a schema as JSON without floating point holds it."""
    if isinstance(number, float) and number.is_integer() and abs(number) <= LARGEST_WHOLE:
        number = int(number)
    if isinstance(number, bool | str):
        return number
    return number if not is_real and abs(number) <= LARGEST_WHOLE else repr(number)
