"""Surveys to ask SQL of, with columns of every kind, for tests that need no reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from support.partial_designs import PartialDesign

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.errors import Place, QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.parser.query import ParsedSQL, Query
from ldpsql.planner.plan import boxes, disjoin
from ldpsql.sql.lookups import PublicTable
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import BOOL, Listed, float_edges, int_domain, int_edges, time_range

_ONE = Epsilon.parse("1")
_NOTHING = StatedGuarantee("local", _ONE, protects="nobody: it collects nothing")


@dataclass(frozen=True)
class NoDesign(PartialDesign):
    """As much of a design as a survey needs to be asked."""

    domain: RecordDomain
    name: str = "none"
    epsilon: Epsilon = _ONE
    guarantee: StatedGuarantee = _NOTHING


def survey(table: str, schema: Schema) -> Survey:
    """A survey without a mechanism."""
    return Survey(table, schema, NoDesign(RecordDomain.of(schema)))  # type: ignore[arg-type]


APP = survey(
    "app",
    Schema(
        (
            Dimension("age", int_domain(18, 90)),
            Dimension("state", Listed("category", ("CA", "NY", "WA")), missing="code"),
            Dimension("active", BOOL),
            Dimension("hours", int_domain(0, 99)),
            Dimension("joined", time_range("date", "2026-01-01", "2026-12-31", "month")),
            Dimension("score", float_edges([0.0, 0.5, 1.0, 2.0])),
        ),
        (Measure("hours", (0, 99)), Measure("purchase", (0, 500))),
        (
            PublicColumn("day", "date"),
            PublicColumn("amount", "float"),
            PublicColumn("version", "text"),
            PublicColumn("beta", "bool"),
            PublicColumn("seen", "timestamp"),
            PublicColumn("build", "int"),
        ),
    ),
)


TYPES = survey(
    "types",
    Schema(
        (
            Dimension("age", int_domain(18, 90)),
            Dimension("score", int_edges([0, 10, 12, 20])),
            Dimension("size", Listed("category", ("S", "M", "L")), missing="code"),
            Dimension("income", float_edges([0.0, 10.5, 20.0, 40.0])),
            Dimension("seen", time_range("timestamp", "2026-01-01", "2026-01-10", "day")),
            Dimension("week", time_range("date", "2026-01-05", "2026-02-28", "week")),
            Dimension("wide", int_domain(0, 10**9, bin_width=10**8)),
        )
    ),
)
"""Dimensions whose codes stand for several values, and one with too many values to list."""
PEOPLE = survey(
    "people",
    Schema(
        (
            Dimension("age", int_domain(18, 57)),
            Dimension("hours", int_domain(0, 79, bin_width=10)),
            Dimension("state", Listed("category", ("CA", "NY"))),
            Dimension("day", time_range("date", "2026-01-01", "2026-01-07", "day")),
        ),
        (Measure("pay", (0, 100)),),
    ),
)
SELLERS = survey("sellers", Schema((Dimension("size", int_domain(0, 3)),)))
TIPS = survey(
    "tips",
    Schema(
        (Dimension("age", int_domain(18, 57)),),
        (
            Measure("tip", (0, 20), has_null=True),
            Measure("bonus", (0, 9), has_null=True),
            Measure("pay", (0, 100)),
        ),
        (PublicColumn("amount", "float"),),
    ),
)
"""Measures that may be missing."""
SURVEYS = {each.table: each for each in (APP, TYPES, PEOPLE, SELLERS, TIPS)}
LOOKUPS = {
    "regions": PublicTable.of("regions", {"code": ["NY"], "region": ["east"], "pop": [19]}),
    "cities": PublicTable.of("cities", {"state": ["NY"], "city": ["Albany"]}),
}


def survey_of(table: str) -> Survey:
    """One of these surveys, or the error that a store raises."""
    if table.lower() in SURVEYS:
        return SURVEYS[table.lower()]
    raise QueryError(f"there is no survey {table!r}", hint="there are app")


def parsed(sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> ParsedSQL:
    """A statement about these surveys and look-up tables."""
    return parse(sql, parameters, survey_of, LOOKUPS.get)


def base_of(sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Query:
    """The only base query of a statement."""
    (query,) = parsed(sql, parameters).bases
    return query


def refusal(sql: str, parameters: Any = None) -> QueryError | UnsupportedSQL:
    """The error that a statement raises before it is planned; its place must lie inside the
    text."""
    with pytest.raises((QueryError, UnsupportedSQL)) as caught:
        for base in parsed(sql, parameters).bases:
            disjoin(boxes(base, survey_of(base.table), sql))
    error = caught.value
    assert "\n" not in str(error)
    if error.place is not None:
        line = sql.splitlines()[error.place.line - 1]
        assert 1 <= error.place.column <= len(line)
    return error


def marked(error: QueryError | UnsupportedSQL) -> str:
    """The text over the carets."""
    place: Place | None = error.place
    assert place is not None
    line = error.sql.splitlines()[place.line - 1]
    return line[place.column - 1 : place.column - 1 + place.length]
