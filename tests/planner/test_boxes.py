from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pytest
from support.executed_lines import lines_run
from support.plan_fixtures import compiled
from support.sql_survey import APP, base_of, marked

from ldpsql.algebra.boxes import Box
from ldpsql.errors import UnsupportedSQL
from ldpsql.planner.plan import boxes, disjoin
from ldpsql.planner.where import MAX_SLICES, Slice


def test_a_predicate_that_nobody_satisfies_leaves_one_slice_without_boxes() -> None:
    for where in ("FALSE", "age = 5 AND beta", "age = NULL", "state IN (NULL)"):
        plan = compiled(f"SELECT COUNT(*) FROM app WHERE {where}")
        assert plan.slices == (Slice(None, ()),)


def test_too_many_public_conditions_are_refused() -> None:
    def where(count: int) -> str:
        return " OR ".join(f"(build > {i} AND age = {i + 20})" for i in range(count))

    at_most = MAX_SLICES.bit_length() - 1
    assert len(compiled(f"SELECT COUNT(*) FROM app WHERE {where(at_most)}").slices) > 8
    for count in (at_most + 1, 60, 500):
        with pytest.raises(UnsupportedSQL) as caught:
            compiled(f"SELECT COUNT(*) FROM app WHERE {where(count)}")
        assert caught.value.place is not None


def test_public_conditions_that_leave_the_same_question_are_looked_at_once() -> None:
    """Of people who satisfy one of them no other matters; 2^60 assignments leave one box."""
    where = " OR ".join(f"(build > {i} AND age = 20)" for i in range(60))
    [piece] = compiled(f"SELECT COUNT(*) FROM app WHERE {where}").slices
    assert [*piece.boxes] == [*compiled("SELECT COUNT(*) FROM app WHERE age = 20").slices[0].boxes]


def test_a_column_that_equals_one_literal_equals_no_other() -> None:
    """A pivot by a public column splits people by its values, not by every set of them."""
    pivot = ", ".join(f"SUM(CASE WHEN build = {i} THEN age ELSE 0 END)" for i in range(30))
    plan = compiled(f"SELECT {pivot} FROM app")
    assert len(plan.slices) == 31
    assert [sum(map(bool, piece.filtered)) for piece in plan.slices] == [1] * 30 + [0]
    both = compiled("SELECT COUNT(*) FROM app WHERE (build = 1 OR age = 20) AND build = 2")
    assert len(both.slices) == 1


def test_public_conditions_in_one_place_count_as_one() -> None:
    where = " OR ".join(f"build = {i}" for i in range(1_000))
    plan = compiled(f"SELECT COUNT(*) FROM app WHERE ({where}) AND age = 20")
    assert len(plan.slices) == 1


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(UnsupportedSQL) as caught:
        compiled("SELECT COUNT(*) FROM app GROUP BY age, hours, joined, state")
    assert "350,400 rows" in caught.value.reason
    with pytest.raises(UnsupportedSQL, match="over a trillion rows"):
        compiled("SELECT COUNT(*) FROM app GROUP BY " + ", ".join(f"age + {i}" for i in range(99)))
    assert marked(caught.value) == "age"


def test_rows_hold_every_declared_value_and_null() -> None:
    plan = compiled("SELECT COUNT(*) FROM app GROUP BY day, state, active, version")
    assert plan.public_keys == ("day", "version")
    assert [values for values, _ in plan.private_rows] == [
        (state, active) for state in ("CA", "NY", "WA", None) for active in (False, True)
    ]
    assert plan.private_rows[-1][1] == (Box((None, ((3, 4),), ((1, 2),), None, None, None)),)


def test_without_private_keys_there_is_one_row() -> None:
    plan = compiled("SELECT COUNT(*) FROM app GROUP BY day")
    assert plan.private_rows == (((), (Box.whole(6),)),)


def test_targets_are_listed_once() -> None:
    plan = compiled("SELECT COUNT(*), AVG(hours), SUM(hours) / COUNT(*), COUNT(age) FROM app")
    assert len(plan.targets) == 2


def listed(count: int) -> str:
    return ", ".join(map(str, range(count)))


LONG = {
    "or": lambda n: " OR ".join(f"age = {i}" for i in range(n)),
    "and": lambda n: " AND ".join(f"age <> {i}" for i in range(n)),
    "in": lambda n: f"age IN ({listed(n)})",
    "not in": lambda n: f"age NOT IN ({listed(n)})",
    "or of and": lambda n: " OR ".join(
        f"(age = {i % 70 + 18} AND hours = {i % 99})" for i in range(n)
    ),
    "and of or": lambda n: " AND ".join(
        f"(age <> {i % 70 + 18} OR hours <> {i % 99})" for i in range(n)
    ),
    "and of three": lambda n: " AND ".join(
        f"(age = {i % 70 + 18} OR hours = {i % 99} OR active)" for i in range(n)
    ),
}


def work_of(where: str) -> int:
    """Lines run to compile a condition."""
    sql = f"SELECT COUNT(*) FROM app WHERE {where}"
    query = base_of(sql)
    return lines_run(lambda: disjoin(boxes(query, APP, sql)))


@pytest.mark.fast(4)
@pytest.mark.parametrize("where", LONG.values(), ids=LONG)
def test_twice_as_long_a_condition_is_at_most_twice_the_work(where: Callable[[int], str]) -> None:
    assert work_of(where(240)) < 2.2 * work_of(where(120))


def test_work_that_grows_with_the_square_is_caught() -> None:
    """The negative control of the measure."""

    def pairs_of(count: int) -> None:
        for _ in range(count):
            for _ in range(count):
                pass

    assert lines_run(lambda: pairs_of(60)) > 3.5 * lines_run(lambda: pairs_of(30))


def test_a_condition_that_falls_apart_into_too_many_boxes_is_refused_at_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("ldpsql.planner.disjoin"), "MAX_BOXES", 69)
    where = " OR ".join(f"(age = {i + 18} AND hours = {i})" for i in range(70))
    with pytest.raises(UnsupportedSQL) as caught:
        compiled(f"SELECT COUNT(*) FROM app WHERE active OR {where}")
    assert "more than 69 boxes" in caught.value.reason
    assert marked(caught.value) == "active"
