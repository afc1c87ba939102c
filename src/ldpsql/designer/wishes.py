"""Public. Sees parameters. The table [workload] of a survey file: what is to be answered best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ldpsql.workload import (
    DEFAULT_PREDICATES,
    DeclaredQuery,
    Kind,
    Workload,
    kinds_of,
)
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema

MOST_CLASSES = 20_000
MOST_QUERIES = 1_000
_KEYS = ("queries", "max_predicates", "kinds")
_EQUALITY_TYPES = ("category", "bool")


@dataclass(frozen=True)
class Wishes:
    """What a survey should answer best.

    workload: as mechanisms take it.  numbers: for each of its declared queries which SQL text it
    comes from, counted from 1.
    """

    workload: Workload
    numbers: tuple[int, ...] = ()


def read_wishes(table: Mapping[str, Any] | None, name: str, schema: Schema) -> Wishes:
    """The workload of a survey named `name`; None for a survey file without the table.

    Without `queries` every predicate is wished for: its kinds are those of [workload.kinds], else
    ranges on ordered dimensions and equality on the others, up to `max_predicates` in a query.
    Queries alone have all the weight; beside one of the other keys they have half of it.
    SurveyError names the key; QueryError and UnsupportedSQL come from the SQL.
    """
    keys = dict(table or {})
    for key in keys:
        if key not in _KEYS:
            raise SurveyError(f"[workload]: unknown key {key!r}; it knows: {', '.join(_KEYS)}")
    texts = _texts(keys.get("queries", []))
    if not texts:
        return Wishes(_everyday(keys, schema))
    groups = _declared(texts, name, schema)
    numbers = tuple(number for number, group in enumerate(groups, 1) for _ in group)
    queries = tuple(query for group in groups for query in group)
    most = max(len(query.constrained) for query in queries)
    domain = schema.record_domain
    if len(keys) == 1:
        return Wishes(Workload(domain, (), queries, max(most, 1)), numbers)
    everyday = _everyday(keys, schema)
    mixture = Workload(
        domain,
        tuple(replace(entry, weight=entry.weight / 2) for entry in everyday.classes),
        tuple(replace(query, weight=query.weight / 2) for query in queries),
        max(most, everyday.max_predicates),
    )
    return Wishes(mixture, numbers)


def _declared(texts: Sequence[str], name: str, schema: Schema) -> list[tuple[DeclaredQuery, ...]]:
    """The declared queries of every text, each text weighing the same."""
    # Reading SQL loads sqlglot, which a survey without queries does not need.
    from ldpsql.designer.questions import Draft, declared  # noqa: PLC0415

    draft = Draft(name, schema)
    return [
        tuple(
            replace(query, weight=query.weight / len(texts))
            for query in declared(text, number, draft)
        )
        for number, text in enumerate(texts, 1)
    ]


def _texts(queries: Any) -> list[str]:
    if not isinstance(queries, list) or not all(isinstance(text, str) for text in queries):
        raise SurveyError("[workload]: queries must be a list of SQL texts")
    if len(queries) > MOST_QUERIES:
        raise SurveyError(f"[workload]: at most {MOST_QUERIES} queries, not {len(queries)}")
    return queries


def _everyday(keys: Mapping[str, Any], schema: Schema) -> Workload:
    most = keys.get("max_predicates", DEFAULT_PREDICATES)
    if type(most) is not int or most < 1:
        raise SurveyError("[workload]: max_predicates must be a whole number, at least 1")
    wanted = keys.get("kinds", {})
    if not isinstance(wanted, Mapping):
        raise SurveyError('[workload]: kinds must be a table: [workload.kinds] age = "range"')
    kinds: dict[int, Kind] = {
        i: "equality" if dimension.domain.type in _EQUALITY_TYPES else "range"
        for i, dimension in enumerate(schema.dimensions)
    }
    domain = schema.record_domain
    kinds.update(kinds_of(domain.names, wanted))
    asked = sum(size > 1 for size in domain.sizes)
    classes = sum(math.comb(asked, k) for k in range(1, min(most, asked) + 1))
    if classes * (1 + len(domain.bounds)) > MOST_CLASSES:
        raise SurveyError(
            f"[workload]: max_predicates = {most} over {asked} dimensions asks for {classes} sets "
            f"of dimensions, too many to design for; name the queries that matter instead"
        )
    return Workload.everyday(domain, kinds, most)
