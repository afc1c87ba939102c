"""SELECT over a survey's table; what most statements become is in parsed.sql."""

from __future__ import annotations

import pytest
from support.executed_lines import lines_run
from support.sql_survey import base_of, parsed, refusal

from ldpsql.sql.aggregates import (
    Aggregate,
    Amount,
    aggregates,
)


def test_aggregates_know_their_places() -> None:
    query = base_of("SELECT SUM(purchase) / COUNT(*) FROM app")
    first, second = aggregates(query.columns[0].expression)
    assert (first.place.column, first.place.length) == (8, len("SUM(purchase)"))
    assert (second.place.column, second.place.length) == (24, len("COUNT(*)"))


def test_a_query_that_only_picks_columns_needs_no_database() -> None:
    statement = parsed("SELECT COUNT(*) n, state, STDERR(COUNT(*)) FROM app GROUP BY state")
    assert statement.projection is not None
    assert [column for column, _ in statement.projection] == ["e0", "k0", "e1"]
    assert [output.is_estimate for output in statement.outputs] == [True, False, False]
    assert not statement.traced


def test_aliases_that_double_at_every_step_are_refused() -> None:
    items = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(60))
    assert "unfold" in refusal(f"SELECT COUNT(*) AS a0, {items} FROM app").reason


def test_an_expression_that_a_public_value_may_be_missing_from_has_three_shares() -> None:
    (column,) = base_of("SELECT SUM(amount + age) FROM app").columns
    assert isinstance(column.expression, Aggregate)
    assert isinstance(column.expression.column, Amount)
    shares = [(share.column, share.kind) for share in column.expression.column.summed]
    assert shares == [("amount", "value"), ("amount", "present"), (None, "value")]


def test_a_list_holds_some_hundred_shares() -> None:
    shares = ", ".join(f"0.{share:03}" for share in range(257))
    error = refusal(f"SELECT QUANTILE_DISC(age, [{shares}]) FROM app")
    assert (error.reason, error.hint) == ("more than 256 shares in a list", "list fewer")


def test_a_cube_of_many_keys_is_refused_before_its_sets_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They double with every key: with 30 keys listing them takes minutes and gigabytes."""

    def listed(*_: object) -> None:
        raise AssertionError("the sets of a CUBE were listed")

    monkeypatch.setattr("ldpsql.parser.select.combinations", listed)
    keys = ", ".join(f"age + {number}" for number in range(30))
    error = refusal(f"SELECT COUNT(*) FROM app GROUP BY CUBE ({keys})")
    assert (error.reason, error.hint) == ("more than 128 grouping sets", "list fewer")


def test_sets_that_are_asked_apart_have_so_many_columns_together():
    columns = ", ".join(f"COUNT(*) + {number}" for number in range(2048))
    one = f"SELECT {columns} FROM app GROUP BY "
    error = refusal(f"{one}ROLLUP (day)")
    assert error.reason == "the grouping sets have more than 4,096 columns together"
    assert len(base_of(f"{one}ROLLUP (age)").columns) == 2048


def test_thousands_of_keys_or_terms_are_refused_before_they_are_read() -> None:
    """Each takes milliseconds; as many as are allowed are taken."""
    keys = [f"age + {number}" for number in range(257)]
    error = refusal(f"SELECT COUNT(*) FROM app GROUP BY {', '.join(keys)}")
    assert error.reason == "GROUP BY takes at most 256 keys, and these are 257"
    parsed(f"SELECT COUNT(*) FROM app GROUP BY {', '.join(keys[:9])}")
    terms = ["1"] * 1_001
    error = refusal(f"SELECT COUNT(*) FROM app ORDER BY {', '.join(terms)}")
    assert error.reason == "ORDER BY takes at most 1,000 terms, and these are 1,001"
    parsed(f"SELECT COUNT(*) FROM app ORDER BY {', '.join(terms[:-1])}")


def test_a_cube_of_seven_keys_has_as_many_sets_as_are_answered() -> None:
    keys = ", ".join(f"age + {number}" for number in range(7))
    query = base_of(f"SELECT COUNT(*) FROM app GROUP BY CUBE ({keys})")
    assert query.sets is not None
    assert len(set(query.sets)) == len(query.sets) == 128


def test_the_branches_of_a_case_are_read_in_a_time_that_grows_with_their_number() -> None:
    """Only where public columns decide are people split by branches, of which every one repeats the
    conditions before it."""

    def read(condition: str, count: int) -> int:
        whens = " ".join(f"WHEN {condition} = {i} THEN {i + 1}" for i in range(count))
        return lines_run(lambda: base_of(f"SELECT SUM(CASE {whens} END) FROM app"))

    read("hours", 1)  # imports what is only now needed
    assert read("hours", 40) < 2.2 * read("hours", 20)
    assert read("build", 40) > 3 * read("build", 20)  # the negative control
