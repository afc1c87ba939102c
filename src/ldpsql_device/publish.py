"""Writing the survey file that devices fetch: the inverse of `ldpsql_device.survey`.

Whoever designs a survey runs this; a device does not load it.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from ldpsql_device.guarantee import Guarantee, Shuffled
from ldpsql_device.plan import Plan, plan_to_json
from ldpsql_device.schema import LARGEST_WHOLE, ROLES, Dimension, Schema
from ldpsql_device.survey import VERSION, canonical
from ldpsql_device.values import Domain, Listed

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
) -> str:
    """The canonical JSON of a survey with these parts; see `Survey`."""
    rounds = {"previous": previous, "first": first}
    data = {
        "ldpsql_survey": VERSION,
        "table": table,
        "schema": schema_to_json(schema),
        "promise": _write_promise(guarantee, shuffled),
        "plan": plan_to_json(plan),
        "collector": collector,
        **{key: value for key, value in rounds.items() if value is not None},
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
        data["shuffle"] = {k: v for k, v in shuffled.to_json().items() if k != "model"}
    return data


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """The columns as a published survey has them: arrays in order, and no floating point.

    Numbers of float dimensions and bounds of measures are decimal strings, as are whole numbers
    above 2^53.
    """
    keys = schema_to_keys(schema)
    for table in (*keys["dimension"].values(), *keys["measure"].values()):
        is_real = table.get("type", "float") == "float"
        for key in ("domain", "edges", "bounds", "sensitive"):
            if key in table:
                table[key] = [_write_number(number, is_real) for number in table[key]]
    return {role: [{"name": name, **table} for name, table in keys[role].items()] for role in ROLES}


def schema_to_keys(schema: Schema) -> dict[str, Any]:
    """The tables [dimension], [measure] and [public] of a survey file; see `Schema.from_keys`."""
    return {
        "dimension": {
            d.name: {
                **_domain_keys(d.domain),
                **_unless("nulls", d.nulls, "reject"),
                **_sensitive_keys(d),
            }
            for d in schema.dimensions
        },
        "measure": {
            m.name: {
                "bounds": list(m.bounds),
                **_unless("on_out_of_range", m.on_out_of_range, "clamp"),
            }
            for m in schema.measures
        },
        "public": {
            p.name: {"type": p.type, **_unless("nulls", p.nulls, "reject")} for p in schema.public
        },
    }


def _domain_keys(domain: Domain) -> dict[str, Any]:
    """The keys of a survey file that give a domain back."""
    if isinstance(domain, Listed):
        listed = {} if domain.type == "bool" else {"values": list(domain.values)}
        return {"type": domain.type, **listed}
    keys = {key: list(v) if isinstance(v, tuple) else v for key, v in domain.keys}
    return {"type": domain.type, **keys}


def _sensitive_keys(dimension: Dimension) -> dict[str, Any]:
    """The keys of a survey file that give the sensitive codes back."""
    if not dimension.sensitive:
        return {}
    domain = dimension.domain
    values = domain.values if isinstance(domain, Listed) else domain.edges
    listed = [values[code] for code in dimension.sensitive if code < domain.size]
    left_out = dimension.nulls == "value" and domain.size not in dimension.sensitive
    return {"sensitive": listed, **({"sensitive_nulls": False} if left_out else {})}


def _unless(key: str, value: str, default: str) -> dict[str, str]:
    return {} if value == default else {key: value}


def _write_number(number: Any, is_real: bool) -> Any:
    """A number of a schema as JSON without floating point holds it."""
    if isinstance(number, float) and number.is_integer() and abs(number) <= LARGEST_WHOLE:
        number = int(number)
    if isinstance(number, bool | str):
        return number
    return number if not is_real and abs(number) <= LARGEST_WHOLE else repr(number)
