"""The table [workload]: what is designed for, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ldpsql.designer.file import read_workload
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema

SCHEMA = Schema.from_keys(
    {
        "dimension": {
            "age": {"type": "int", "domain": [18, 90]},
            "state": {"type": "category", "values": ["CA", "NY", "WA"], "missing": "code"},
            "member": {"type": "bool"},
        },
        "measure": {"spent": {"bounds": [0, 500]}, "change": {"bounds": [-30, 10]}},
        "public": {"day": {"type": "date"}, "price": {"type": "float"}},
    }
)


def read(**table):
    return read_workload(table or None, "app", SCHEMA)


def declared(*queries, **table):
    return read(queries=list(queries), **table).queries


def test_nothing_said_is_ranges_equalities_and_pairs():
    workload = read()
    predicates = {entry.predicates for entry in workload.classes}
    age, state, member = (0, "range"), (1, "equality"), (2, "equality")
    assert predicates == {(age,), (state,), (member,), (age, state), (age, member), (state, member)}
    assert {entry.measure for entry in workload.classes} == {None, 0, 1}
    assert workload.max_predicates == 2


def test_kinds_and_the_number_of_predicates_can_be_said():
    workload = read(kinds={"AGE": "prefix", "state": "range"}, max_predicates=3)
    assert ((0, "prefix"), (1, "range"), (2, "equality")) in {
        e.predicates for e in workload.classes
    }
    assert workload.max_predicates == 3


def test_queries_alone_have_all_the_weight_and_half_beside_others():
    alone = read(queries=["SELECT COUNT(*) FROM app WHERE age < 30"])
    assert alone.classes == ()
    assert [query.weight for query in alone.queries] == [1.0]
    assert [query.text for query in alone.queries] == [1]
    both = read(queries=["SELECT COUNT(*) FROM app WHERE age < 30"], max_predicates=1)
    assert sum(query.weight for query in both.queries) == pytest.approx(0.5)
    assert sum(entry.weight for entry in both.classes) == pytest.approx(0.5)


def test_every_text_weighs_the_same():
    workload = read(
        queries=[
            "SELECT COUNT(*) FROM app WHERE age < 30",
            "SELECT state, COUNT(*), AVG(spent) FROM APP GROUP BY state",
        ]
    )
    weights = {1: 0.0, 2: 0.0}
    for query in workload.queries:
        weights[query.text] += query.weight
    assert weights == pytest.approx({1: 0.5, 2: 0.5})


def test_targets():
    where = "FROM app WHERE age BETWEEN 30 AND 39"
    side = (((12, 22),), None, None)
    (count,) = declared(f"SELECT COUNT(*) {where}")
    assert (count.terms, count.measure, count.level, count.contrast) == (((1.0, side),), None, 1, 0)
    (total,) = declared(f"SELECT SUM(spent) {where}")
    assert (total.measure, total.level, total.contrast) == (0, 0.5, 0.5)
    (change,) = declared(f"SELECT SUM(change) {where}")
    assert (change.measure, change.level, change.contrast) == pytest.approx((1, -1 / 3, 2 / 3))
    number, middle = declared(f"SELECT AVG(spent) {where}")
    assert (number.weight, number.measure, number.level) == (0.25, None, 1.0)
    assert (middle.weight, middle.measure, middle.level, middle.contrast) == (0.75, 0, 0.0, 1.0)
    for public in (f"SELECT SUM(price) {where}", f"SELECT AVG(price) {where}"):
        (weighted,) = declared(public)
        assert (weighted.terms, weighted.measure) == (((1.0, side),), None)


def test_groups_and_public_slices_are_averaged():
    groups = declared("SELECT state, COUNT(*) FROM app WHERE age < 30 GROUP BY state")
    assert [query.weight for query in groups] == pytest.approx([0.25] * 4)
    slices = declared(
        "SELECT COUNT(*) FROM app WHERE day > '2026-01-01' AND age < 30 OR state = 'NY'"
    )
    assert len(slices) == 2
    assert sum(query.weight for query in slices) == pytest.approx(1.0)


def test_many_groups_are_taken_evenly():
    schema = Schema.from_keys({"dimension": {"zip": {"type": "int", "domain": [0, 999]}}})
    text = "SELECT zip, COUNT(*) FROM app GROUP BY zip"
    queries = read_workload({"queries": [text]}, "app", schema).queries
    codes = [query.terms[0][1][0][0][0] for query in queries]
    assert len(codes) == 256
    assert codes[0] < 4 and codes[-1] > 995
    assert {right - left for left, right in pairwise(codes)} == {3, 4}


def test_what_is_known_exactly_has_no_weight():
    known_and_asked = declared("SELECT COUNT(*), SUM(spent) FROM app")
    assert [(query.measure, query.weight) for query in known_and_asked] == [(0, 1.0)]


def test_texts_that_are_exact_anyway_leave_all_weight_to_the_others():
    exact = ["SELECT COUNT(*) FROM app", "SELECT COUNT(*) FROM app WHERE age < 0"]
    asked = "SELECT COUNT(*) FROM app WHERE age < 30"
    alone = read(queries=[exact[0], asked, exact[1]])
    assert [(query.text, query.weight) for query in alone.queries] == [(2, 1.0)]
    assert read(queries=exact, max_predicates=1) == read(max_predicates=1)
    with pytest.raises(SurveyError, match="ask for nothing that reports must tell"):
        read(queries=exact)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT COUNT(*) FROM", QueryError, "query 2: syntax error"),
        ("SELECT COUNT(*) FROM app WHERE height = 1", QueryError, "query 2: .*height"),
        ("SELECT MAX(age) FROM app", UnsupportedSQL, "query 2: MAX depends on single people"),
        ("SELECT COUNT(*) FROM shop", QueryError, "query 2: a workload cannot ask shop"),
        ("SELECT COUNT(*) FROM app WHERE age < ?", QueryError, "query 2: "),
    ],
)
def test_sql_is_refused_with_its_number_and_place(text, error, message):
    with pytest.raises(error, match=message) as refusal:
        declared("SELECT COUNT(*) FROM app WHERE age < 30", text)
    assert str(refusal.value).startswith("[workload] query 2: ")


def test_the_caret_stands_under_the_mistake():
    with pytest.raises(QueryError) as refusal:
        declared("SELECT COUNT(*)\nFROM app WHERE height = 1")
    assert refusal.value.caret() == "  FROM app WHERE height = 1\n                 ^^^^^^"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"query": []},
            "unknown key 'query'; did you mean queries? it knows: queries, max_predicates, "
            "weights, merge, kinds",
        ),
        ({"queries": "SELECT 1"}, "queries must be a list"),
        ({"queries": [1]}, "queries must be a list"),
        ({"queries": ["SELECT 1"] * 1001}, "at most 1000 queries"),
        ({"max_predicates": 0}, "max_predicates must be a whole number"),
        ({"max_predicates": True}, "max_predicates must be a whole number"),
        ({"max_predicates": "2"}, "max_predicates must be a whole number"),
        ({"kinds": "range"}, "kinds must be a table"),
        ({"kinds": {"height": "range"}}, "height is not a dimension"),
        ({"kinds": {"age": "fuzzy"}}, "age must be one of range, prefix, equality"),
    ],
)
def test_a_bad_table_is_refused_by_its_key(table, message):
    with pytest.raises(SurveyError, match=r"^\[workload\]: ") as refusal:
        read(**table)
    assert message in str(refusal.value)


def test_too_many_sets_of_dimensions_become_smaller_sets():
    names = {f"x{i}": {"type": "bool"} for i in range(60)}
    schema = Schema.from_keys({"dimension": names})
    assert read_workload({"max_predicates": 30}, "app", schema).max_predicates == 2
    assert read_workload({"max_predicates": 1}, "app", schema).max_predicates == 1


@pytest.mark.parametrize(
    ("asked", "size"),
    [("age * 1e99", "large"), ("age * -1e300", "large"), ("age * 1e-110", "small")],
)
def test_what_is_too_large_or_small_to_be_summed_is_refused_at_its_place(asked, size):
    """Its square over all people would be no number, or 0."""
    with pytest.raises(QueryError, match=f"query 1: this is too {size} to be summed") as caught:
        declared(f"SELECT SUM({asked}) FROM app WHERE member")
    assert "another unit" in caught.value.hint
    for fits in ("age * 1e90", "age * 1e-90", "EXP(-(age - 30) * (age - 30))"):
        assert declared(f"SELECT SUM({fits}) FROM app WHERE member")
