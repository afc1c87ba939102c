"""Codes that no declared query tells apart are collected as one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies
from numpy.typing import NDArray

from ldpsql.algebra.boxes import codes_of
from ldpsql.designer import design_survey
from ldpsql.designer.file import read_file, read_workload
from ldpsql.designer.merging import merge_codes
from ldpsql.designer.questions import UndesignedSurvey
from ldpsql.engine.notes import notes_on_query
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser import parse
from ldpsql.planner.plan import make_plans
from ldpsql.planner.where import Slice, slices
from ldpsql.sql.domains import domain_labels
from ldpsql_device.description import Edges
from ldpsql_device.schema import Schema
from ldpsql_device.values import Listed, Ordered

FILE = """
[survey]
table = "app"
epsilon = "1"
[dimension.age]
type = "int"
domain = [17, 90]
[dimension.size]
type = "float"
domain = [0.0, 2.0]
bins = 20
[dimension.state]
type = "category"
values = ["NY", "CA", "TX"]
[dimension.weeks]
type = "int"
domain = [0, 52]
missing = "code"
[workload]
queries = [{}]
"""
RANGES = (
    '"SELECT COUNT(*) FROM app WHERE age BETWEEN 20 AND 29 OR age >= 65", '
    '"SELECT state, COUNT(*) FROM app WHERE size < 0.5 GROUP BY state"'
)


def edges(*queries: str) -> dict[str, list[object]]:
    merged, _ = merge_codes(read_file(FILE.format(", ".join(queries))))
    assert merged.workload.queries, "what is merged answers its queries"
    kinds = {d.name: d.domain for d in merged.schema.dimensions}
    return {name: list(Edges(own)) for name, own in kinds.items() if isinstance(own, Ordered)}


def test_every_end_of_a_predicate_is_an_edge_and_nothing_else() -> None:
    found = edges(RANGES)
    assert found["age"] == [17, 20, 30, 65, 91]
    assert found["size"] == [0.0, 0.5, 2.0]
    assert len(found["weeks"]) == 54, "what nobody asks about stays as it is"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT age, COUNT(*) FROM app GROUP BY age",
        "SELECT AVG(age) FROM app WHERE state = 'NY'",
        "SELECT COUNT(*) FROM app WHERE age % 2 = 0",
    ],
)
def test_what_tells_every_value_apart_merges_none(query: str) -> None:
    assert len(edges(f'"{query}"')["age"]) == 75


def test_all_rows_of_a_large_group_by_are_looked_at() -> None:
    found = edges('"SELECT weeks, age, COUNT(*) FROM app GROUP BY weeks, age"')
    assert (len(found["age"]), len(found["weeks"])) == (75, 54)


def test_values_of_one_list_are_merged_and_those_of_several_conditions_are_not() -> None:
    found = edges('"SELECT COUNT(*) FROM app WHERE age IN (30, 31, 40)"')
    assert found["age"] == [17, 30, 32, 40, 41, 91]
    found = edges(
        '"SELECT COUNT(*) FROM app WHERE age = 30", "SELECT COUNT(*) FROM app WHERE age = 31"'
    )
    assert found["age"] == [17, 30, 31, 32, 91]
    found = edges('"SELECT COUNT(*) FROM app WHERE age = 30 OR age = 31"')
    assert found["age"] == [17, 30, 32, 91], "conditions are looked at together"
    found = edges('"SELECT COUNT(*) FILTER (WHERE NOT age IN (30, 31)) FROM app"')
    assert found["age"] == [17, 30, 32, 91]


HALVES = tuple(
    f"SELECT COUNT(*) FROM app WHERE {condition}"
    for condition in ("age < 70", "size < 1.0", "state = 'TX'", "weeks < 10")
)


@pytest.mark.parametrize(
    "asked",
    [
        "COUNT(*) FROM app WHERE age < 20 AND age > 60",
        "COUNT(*) FROM app WHERE age BETWEEN 20 AND 10",
        "COUNT(*) FROM app WHERE age < 20.5 AND NOT age <= 60.5",
        "COUNT(*) FROM app WHERE age IN (NULL)",
        "COUNT(*) FROM app WHERE age IN (5, 99)",
        "COUNT(*) FROM app WHERE age >= 0 OR state = 'NY'",
        "COUNT(*) FROM app WHERE age >= 30 OR age < 40",
        "COUNT(*) FROM app WHERE NOT (age < 30 AND state = 'NY' AND age > 40)",
        "COUNT(*) FROM app WHERE age < 50 AND weeks < 10 OR age >= 50 AND weeks <= 9",
        "COUNT(*) FROM app WHERE size < 0.5 AND size >= 1.5",
        "COUNT(*) FROM app WHERE state = 'NY' AND state = 'CA'",
        "COUNT(*) FILTER (WHERE age < 20 AND age > 60) FROM app",
        "SUM(age), AVG(age) FROM app WHERE state = 'NY' AND state = 'CA'",
        "age, COUNT(*) FROM app WHERE weeks < 5 AND weeks > 6 GROUP BY age",
    ],
)
def test_what_holds_for_nobody_or_everybody_cuts_nothing(asked: str) -> None:
    """Nor does what the rest of a condition decides; and it is answered all the same."""
    query = f"SELECT {asked}"
    designed = design_survey(
        FILE.format(", ".join(f'"{own}"' for own in (*HALVES, query))), mechanism="fourier"
    )
    sizes = [dimension.domain.size for dimension in designed.survey.schema.dimensions]
    assert sizes == [2, 2, 2, 2]
    (base,) = parse(query, None, lambda _: designed.survey).bases
    plan = make_plans(base, designed.survey, query)[-1][1]
    notes_on_query(plan)
    # The negative control: what is not contradictory is refused over these bins.
    cut = "SELECT COUNT(*) FROM app WHERE age > 20 AND age < 60"
    (base,) = parse(cut, None, lambda _: designed.survey).bases
    with pytest.raises(QueryError, match="share one code"):
        make_plans(base, designed.survey, cut)


def test_a_contradiction_costs_nothing() -> None:
    """Beside a question about ages that it would have cut: no more error than without it."""
    text = FILE.split("[dimension.size]", maxsplit=1)[0] + "[workload]\nqueries = [{}]\n"
    asked = '"SELECT COUNT(*) FROM app WHERE age < 40"'
    other = "SELECT COUNT(*) FROM app WHERE age < 20 AND age {} 60"
    alone, both, cut = (
        design_survey(text.format(f'{asked}, "{own}"' if own else asked))
        for own in ("", other.format(">"), other.format("<>"))
    )
    assert both.forecast.error == alone.forecast.error
    assert both.forecast.ratio(both.bound) == pytest.approx(1.0, abs=0.01)
    assert cut.forecast.error > 1.1 * alone.forecast.error


@given(data=strategies.data())
def test_conditions_over_bins_are_as_over_values(data: strategies.DataObject) -> None:
    """Whatever the condition: over the bins that it needs it holds for the same values."""
    ages = strategies.integers(15, 93)
    ops = strategies.sampled_from(["<", "<=", ">", ">=", "=", "<>"])
    leaf = strategies.one_of(
        strategies.builds("age {} {}".format, ops, ages),
        strategies.builds("weeks {} {}".format, ops, strategies.integers(-1, 54)),
        strategies.builds("age BETWEEN {} AND {}".format, ages, ages),
        strategies.sampled_from(["state IN ('CA', 'NY')", "state = 'TX'", "weeks IS NULL"]),
    )
    texts = strategies.recursive(
        leaf,
        lambda own: strategies.one_of(
            strategies.builds("({} AND {})".format, own, own),
            strategies.builds("({} OR {})".format, own, own),
            strategies.builds("(NOT {})".format, own),
        ),
        max_leaves=6,
    )
    condition = data.draw(texts)
    query = f"SELECT COUNT(*) FROM app WHERE {condition}"
    file = read_file(FILE.format(f'"{query}", "{HALVES[0]}"'))
    merged = merge_codes(file)[0].schema
    predicate = parse(query, None, UndesignedSurvey("app", file.published_schema).find).bases[0]
    inside = [
        hold(slices(predicate.predicate, schema, query), schema, file.schema)
        for schema in (file.schema, merged)
    ]
    assert (inside[0] == inside[1]).all()
    # No edge without need: the values at both of its sides differ.
    for axis, (own, before) in enumerate(
        zip(merged.dimensions, file.schema.dimensions, strict=True)
    ):
        if isinstance(own.domain, Ordered) and own.domain.size < before.domain.size:
            for edge in Edges(own.domain)[1:-1]:
                code, _ = before.domain.find(edge)
                left, right = inside[0].take(code - 1, axis), inside[0].take(code, axis)
                assert (left != right).any() or edge == 70


def hold(pieces: tuple[Slice, ...], schema: Schema, values: Schema) -> NDArray[np.bool_]:
    """Who is in some boxes, by the codes of unmerged dimensions."""
    found = np.zeros([own.size for own in schema.dimensions], dtype=bool)
    for box in (box for piece in pieces for box in piece.boxes):
        sides = zip(box.sides, schema.dimensions, strict=True)
        axes = [
            [c for low, high in codes_of(s, d.size) for c in range(low, high)] for s, d in sides
        ]
        found[np.ix_(*axes)] = True
    for axis, (own, before) in enumerate(zip(schema.dimensions, values.dimensions, strict=True)):
        codes = [own.domain.find(label)[0] for label in domain_labels(before.domain)]
        found = found.take([*codes, *([own.domain.size] if own.has_null else [])], axis)
    return found


def test_the_code_of_null_stays_apart() -> None:
    merged, _ = merge_codes(read_file(FILE.format('"SELECT COUNT(*) FROM app WHERE weeks < 10"')))
    weeks = merged.schema.dimensions[3]
    assert (weeks.domain.size, weeks.size, weeks.has_null) == (2, 3, True)


def test_the_survey_says_so_and_refuses_what_would_cut_a_bin() -> None:
    text = FILE.format(RANGES)
    designed = design_survey(text, mechanism="fourier")
    assert "age is collected in 4 bins, edges = [17, 20, 30, 65, 91]" in designed.notes[0]
    schema = designed.survey.schema
    with pytest.raises(QueryError, match="from 20 up to 30 share one code"):
        read_workload({"queries": ["SELECT COUNT(*) FROM app WHERE age > 25"]}, "app", schema)
    # The negative control: unmerged, the same workload costs much more.
    plain = design_survey(text + "merge = false\n", mechanism="fourier")
    assert not plain.notes
    assert designed.forecast.error < 0.8 * plain.forecast.error


def test_beside_classes_nothing_is_merged() -> None:
    text = FILE.format(RANGES) + "max_predicates = 1\n"
    assert not design_survey(text, mechanism="fourier").notes


KINDS = """
[survey]
table = "app"
epsilon = "1"
mechanism = "grr"
[dimension.day]
type = "date"
range = ["2026-01-01", "2026-12-31"]
[dimension.hour]
type = "timestamp"
range = ["2026-01-01", "2026-01-02"]
unit = "hour"
[dimension.state]
type = "category"
values = ["NY", "CA", "TX", "WA"]
outside = "other"
missing = "code"
[workload]
queries = [{}]
"""
ASKED = (
    "SELECT COUNT(*) FROM app WHERE day >= DATE '2026-04-01' AND day < DATE '2026-07-01'",
    "SELECT COUNT(*) FROM app WHERE hour < TIMESTAMP '2026-01-01 09:00:00'",
    "SELECT COUNT(*) FROM app WHERE state IN ('CA', 'WA')",
)


def test_dates_and_categories_are_merged_as_numbers_are() -> None:
    designed = design_survey(KINDS.format(", ".join(f'"{text}"' for text in ASKED)))
    day, hour, state = designed.survey.schema.dimensions
    assert isinstance(day.domain, Ordered)
    assert isinstance(hour.domain, Ordered)
    assert isinstance(state.domain, Listed)
    edges = [list(map(str, Edges(domain))) for domain in (day.domain, hour.domain)]
    assert edges[0] == ["2026-01-01", "2026-04-01", "2026-07-01", "2027-01-01"]
    assert edges[1] == ["2026-01-01 00:00:00", "2026-01-01 09:00:00", "2026-01-03 00:00:00"]
    assert (state.domain.merged, state.size) == ((0, 1, 0, 1, 2), 4)
    notes = " ".join(designed.notes)
    assert "day is collected in 3 bins, edges = [2026-01-01, 2026-04-01, 2026-07-01," in notes
    assert 'state is collected in 3 bins, "NY", "TX" | "CA", "WA" | (other): no declared' in notes


def test_a_bin_of_many_values_is_named_by_the_first_ones() -> None:
    names = [f"town {number}" for number in range(300)]
    text = KINDS.replace('["NY", "CA", "TX", "WA"]', str(names))
    asked = "\"SELECT COUNT(*) FROM app WHERE state IN ('town 0', 'town 299')\""
    _, (note,) = merge_codes(read_file(text.format(asked)))
    first = ", ".join(f'"{name}"' for name in names[1:13])
    assert f'in 3 bins, "town 0", "town 299" | {first} and 286 more | (other): no' in note


def test_values_of_a_bin_are_quoted_without_what_cannot_be_seen() -> None:
    """A value may hold what ends a line, or has a terminal show its text backwards."""
    values = r'["NY | CA", "a, b", "\u202Ecod", "x\ny"]'
    text = KINDS.replace('["NY", "CA", "TX", "WA"]', values)
    asked = "\"SELECT COUNT(*) FROM app WHERE state IN ('NY | CA', 'a, b')\""
    _, (note,) = merge_codes(read_file(text.format(asked)))
    assert r'in 3 bins, "NY | CA", "a, b" | "\u202ecod", "x\u000ay" | (other): no' in note


def test_the_device_gets_them_and_answers_the_same() -> None:
    """Written, read again, and encoded."""
    designed = design_survey(KINDS.format(", ".join(f'"{text}"' for text in ASKED)))
    schema = type(designed.survey).from_json(designed.survey.to_json()).schema
    assert schema == designed.survey.schema
    _, _, state = schema.dimensions
    codes = {value: state.code(value, 1)[0] for value in ("NY", "CA", "TX", "WA", "??", None)}
    assert codes == {"NY": 0, "CA": 1, "TX": 0, "WA": 1, "??": 2, None: 3}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT COUNT(*) FROM app WHERE state = 'CA'", "'CA', 'WA' share one code"),
        ("SELECT state, COUNT(*) FROM app GROUP BY state", "'NY', 'TX' share one code"),
        ("SELECT COUNT(*) FROM app WHERE state LIKE 'C%'", "share one code"),
        ("SELECT COUNT(*) FROM app WHERE CASE state WHEN 'CA' THEN 1 END = 1", "share one code"),
        ("SELECT COUNT(*) FROM app WHERE day < DATE '2026-05-01'", "from 2026-04-01 up to"),
        ("SELECT month(day), COUNT(*) FROM app GROUP BY month(day)", "2026-01-01"),
        ("SELECT COUNT(*) FROM app WHERE state IN ('CA', 'WA') OR state IS NULL", None),
        ("SELECT COUNT(*) FROM app WHERE quarter(day) = 2", None),
        ("SELECT length(state), COUNT(*) FROM app WHERE state <> '(other)' GROUP BY 1", None),
        (
            "SELECT COUNT(*) FROM app WHERE state IN ('TX', 'NY') AND hour >= '2026-01-01 09:00'",
            None,
        ),
    ],
)
def test_what_would_cut_a_bin_is_refused_with_the_bin(query: str, reason: str | None) -> None:
    schema: Schema = design_survey(
        KINDS.format(", ".join(f'"{text}"' for text in ASKED))
    ).survey.schema
    if reason is None:
        assert read_workload({"queries": [query]}, "app", schema).queries
    else:
        with pytest.raises((QueryError, UnsupportedSQL), match=reason):
            read_workload({"queries": [query]}, "app", schema)


def test_sensitive_values_are_not_merged() -> None:
    text = KINDS.format(f'"{ASKED[2]}"').replace('outside = "other"', 'sensitive = ["NY"]')
    assert not design_survey(text).notes
