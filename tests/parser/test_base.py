"""SELECT over a survey's table: keys, measurements, and the SELECT that is left for DuckDB."""

from __future__ import annotations

import pytest
from support.executed_lines import lines_run
from support.sql_survey import base_of, parsed, refusal

from ldpsql.sql.aggregates import (
    Aggregate,
    Amount,
    Arithmetic,
    Expression,
    Number,
    aggregates,
    label,
)


def shown(expression: Expression) -> str:
    match expression:
        case Aggregate(function, column):
            return f"{function}({column or '*'})"
        case Number(value):
            return f"{value:g}"
        case Arithmetic(op, left, right):
            return f"({shown(left)} {op} {shown(right)})"
    raise AssertionError(expression)


def columns(select: str) -> list[str]:
    query = base_of(f"SELECT {select} FROM app")
    return [
        f"{c.name} {c.what}{'' if c.level is None else f' {c.level:g}'}: {shown(c.expression)}"
        for c in query.columns
    ]


def outer(sql: str) -> str:
    """The outer SQL without the qualification of columns."""
    return parsed(sql).outer.replace("ldpsql_base_0.", "")


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("COUNT(*)", ["e0 value: COUNT(*)"]),
        ("count()", ["e0 value: COUNT(*)"]),
        ("COUNT(1)", ["e0 value: COUNT(*)"]),
        ("COUNT(State)", ["e0 value: COUNT(state)"]),
        ("COUNT(day), COUNT(purchase)", ["e0 value: COUNT(day)", "e1 value: COUNT(purchase)"]),
        ("SUM(purchase), AVG(hours)", ["e0 value: SUM(purchase)", "e1 value: AVG(hours)"]),
        ("SUM(amount)", ["e0 value: SUM(amount)"]),
        ("SUM(purchase) / COUNT(*)", ["e0 value: (SUM(purchase) / COUNT(*))"]),
        ("-AVG(hours)", ["e0 value: (0 - AVG(hours))"]),
        ("100 * COUNT(*) - 2 * 3", ["e0 value: ((100 * COUNT(*)) - 6)"]),
        ("COUNT(*), COUNT(*) AS n, (COUNT(*))", ["e0 value: COUNT(*)"]),
        ("ROUND(AVG(hours), 1), AVG(hours)", ["e0 value: AVG(hours)"]),
        ("COUNT(*) AS n, n / 2", ["e0 value: COUNT(*)", "e1 value: (COUNT(*) / 2)"]),
        (
            "STDERR(AVG(hours)), CI_LOW(COUNT(*)), ci_high(COUNT(*), 0.9)",
            ["e0 stderr: AVG(hours)", "e1 low: COUNT(*)", "e2 high 0.9: COUNT(*)"],
        ),
        ("COUNT(*) AS n, STDERR(n)", ["e0 value: COUNT(*)", "e1 stderr: COUNT(*)"]),
        (
            "COUNT(*) + STDERR(COUNT(*)), COUNT(*) % 2",
            ["e0 value: COUNT(*)", "e1 stderr: COUNT(*)"],
        ),
    ],
)
def test_maximal_arithmetic_over_aggregates_is_one_measurement(
    select: str, expected: list[str]
) -> None:
    assert columns(select) == expected


def test_aggregates_know_their_places() -> None:
    query = base_of("SELECT SUM(purchase) / COUNT(*) FROM app")
    first, second = aggregates(query.columns[0].expression)
    assert (first.place.column, first.place.length) == (8, len("SUM(purchase)"))
    assert (second.place.column, second.place.length) == (24, len("COUNT(*)"))


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("GROUP BY state", ["k0=state"]),
        ("GROUP BY 1", ["k0=state"]),
        ("GROUP BY s", ["k0=state"]),
        ("GROUP BY app.STATE, state, 1", ["k0=state"]),
        ("GROUP BY state, day, bin(age, 10)", ["k0=state", "k1=day", "k2=age/10"]),
        ("GROUP BY ALL", ["k0=state"]),
    ],
)
def test_keys_by_name_alias_and_position(tail: str, expected: list[str]) -> None:
    query = base_of(f"SELECT state AS s, COUNT(*) FROM app {tail}")
    assert [
        f"{key.name}={key.column}" + (f"/{key.width:g}" if key.width else "") for key in query.keys
    ] == expected


def test_a_column_comes_before_an_alias_of_the_same_name_in_group_by() -> None:
    query = base_of("SELECT AVG(hours) AS age, COUNT(*) FROM app GROUP BY age")
    assert [key.column for key in query.keys] == ["age"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT state, COUNT(*) AS n FROM app WHERE age > 30 GROUP BY state "
            "HAVING n > 5 ORDER BY n DESC, state LIMIT 3 OFFSET 1",
            'SELECT k0 AS "state", e0 AS "n" FROM ldpsql_base_0 WHERE e0 > 5 '
            "ORDER BY e0 DESC, k0 LIMIT 3 OFFSET 1",
        ),
        (
            "SELECT COUNT(*) FROM app GROUP BY bin(age, 10) HAVING COUNT(*) / 2 > 3 ORDER BY 1",
            'SELECT e0 AS "COUNT(*)" FROM ldpsql_base_0 WHERE e1 > 3 ORDER BY 1',
        ),
        (
            "SELECT bin(age, 10), COUNT(*) FROM app GROUP BY 1 ORDER BY bin(age, 10), ALL",
            'SELECT k0 AS "bin(age, 10)", e0 AS "COUNT(*)" FROM ldpsql_base_0 ORDER BY k0, 1, 2',
        ),
        (
            "SELECT ROUND(AVG(hours), 1) r, CASE WHEN COUNT(*) > 3 THEN 'a' ELSE state END "
            "FROM app GROUP BY state ORDER BY r + 1",
            "SELECT ROUND(e0, 1) AS \"r\", CASE WHEN e1 > 3 THEN 'a' ELSE k0 END AS "
            "\"CASE WHEN COUNT(*) > 3 THEN 'a' ELSE state END\" FROM ldpsql_base_0 "
            "ORDER BY (ROUND(e0, 1)) + 1",
        ),
        (
            "SELECT DISTINCT COUNT(*) FROM app GROUP BY state",
            'SELECT DISTINCT e0 AS "COUNT(*)" FROM ldpsql_base_0',
        ),
        (
            "SELECT DISTINCT state AS s, COUNT(*) AS n FROM app GROUP BY state",
            'SELECT k0 AS "s", e0 AS "n" FROM ldpsql_base_0',
        ),
        (
            "SELECT DISTINCT state, COUNT(*) AS n FROM app GROUP BY state, age",
            'SELECT DISTINCT k0 AS "state", e0 AS "n" FROM ldpsql_base_0',
        ),
        (
            "SELECT DISTINCT COUNT(*) FROM app",
            'SELECT e0 AS "COUNT(*)" FROM ldpsql_base_0',
        ),
        (
            "SELECT 7 AS seven, COUNT(*) AS n FROM app GROUP BY state ORDER BY seven, n",
            'SELECT 7 AS "seven", e0 AS "n" FROM ldpsql_base_0 ORDER BY e0',
        ),
        (
            "FROM app SELECT COUNT(*)",
            'SELECT e0 AS "COUNT(*)" FROM ldpsql_base_0',
        ),
    ],
)
def test_what_is_left_for_duckdb(sql: str, expected: str) -> None:
    assert outer(sql) == expected


def test_an_alias_that_looks_like_a_column_of_the_relation_does_not_take_its_place() -> None:
    sql = parsed("SELECT COUNT(*) AS e1, AVG(hours) AS e0 FROM app ORDER BY AVG(hours)").outer
    assert sql.endswith("ORDER BY ldpsql_base_0.e1")


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("COUNT(*)", "COUNT(*)"),
        ("count( * )", "count( * )"),
        ("COUNT(*) AS n", "n"),
        ("COUNT(*) n", "n"),
        ('COUNT(*) AS "a ""b"" c"', 'a "b" c'),
        ("STATE", "state"),
        ("app.state", "state"),
        ("(state)", "state"),
        ("1", "1"),
        ("SUM(purchase)\n / COUNT(*)", "SUM(purchase)\n / COUNT(*)"),
        ("COALESCE(COUNT(*), (1 + 2))", "COALESCE(COUNT(*), (1 + 2))"),
    ],
)
def test_outputs_are_named_as_written(item: str, name: str) -> None:
    sql = f"SELECT {item}, COUNT(*) + 1 AS last FROM app GROUP BY state"
    assert [output.name for output in parsed(sql).outputs] == [name, "last"]


def test_the_outer_query_selects_what_was_asked_and_nothing_else() -> None:
    statement = parsed(
        "SELECT state, COUNT(*) n, ROUND(AVG(hours), 1), SUM(purchase) FROM app GROUP BY state"
    )
    assert [output.is_estimate for output in statement.outputs] == [False, True, True, True]
    assert statement.outer == (
        'SELECT ldpsql_base_0.k0 AS "state", ldpsql_base_0.e0 AS "n", '
        'ROUND(ldpsql_base_0.e1, 1) AS "ROUND(AVG(hours), 1)", '
        'ldpsql_base_0.e2 AS "SUM(purchase)" FROM ldpsql_base_0'
    )
    assert statement.projection is None


def test_a_query_that_only_picks_columns_needs_no_database() -> None:
    statement = parsed("SELECT COUNT(*) n, state, STDERR(COUNT(*)) FROM app GROUP BY state")
    assert statement.projection is not None
    assert [column for column, _ in statement.projection] == ["e0", "k0", "e1"]
    assert [output.is_estimate for output in statement.outputs] == [True, False, False]
    assert not statement.traced


def test_aliases_that_double_at_every_step_are_refused() -> None:
    items = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(60))
    assert "unfold" in refusal(f"SELECT COUNT(*) AS a0, {items} FROM app").reason


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("COUNT(*) FILTER (WHERE active)", ["COUNT(*) under filter 1"]),
        ("COUNT_IF(active), COUNT(CASE WHEN ACTIVE THEN 1 END)", ["COUNT(*) under filter 1"]),
        ("SUM(CASE WHEN active THEN 1 ELSE 0 END)", ["SUM(1) under filter 1"]),
        ("SUM(if(active, purchase, 0))", ["SUM(purchase) under filter 1"]),
        ("AVG(if(active, purchase, NULL))", ["AVG(purchase) under filter 1"]),
        ("AVG(active)", ["(COUNT(*) under filter 1 / COUNT(*) under filter 2)"]),
        ("SUM(beta)", ["COUNT(*) under filter 1"]),
        ("AVG(Age)", ['AVG("age")']),
        ("SUM(age * 2), SUM(AGE * 2)", ['SUM("age" * 2)']),
        ("AVG(hours)", ["AVG(hours)"]),
        ("SUM(purchase * (age - 18))", ['SUM("purchase" * ("age" - 18))']),
        ("SUM(amount + build)", ['SUM("amount" + "build") under filter 1']),
        (
            "SUM(CASE WHEN beta THEN 1 WHEN build = 2 THEN purchase END)",
            ["(SUM(1) under filter 1 + SUM(purchase) under filter 2)"],
        ),
        (
            "AVG(CASE build WHEN 1 THEN age WHEN 2 THEN 0 END)",
            [
                '((SUM("age") under filter 1 + SUM(0) under filter 2) / '
                "(COUNT(age) under filter 1 + COUNT(*) under filter 2))"
            ],
        ),
        (
            "SUM(CASE WHEN active THEN 1 WHEN age < 30 THEN 2 END)",
            ['SUM(CASE WHEN "active" THEN 1 WHEN "age" < 30 THEN 2 END)'],
        ),
    ],
)
def test_conditions_and_expressions_inside_aggregates(select: str, expected: list[str]) -> None:
    query = base_of(f"SELECT {select} FROM app")
    assert [label(column.expression) for column in query.columns] == expected


def test_an_expression_that_a_public_value_may_be_missing_from_has_three_shares() -> None:
    (column,) = base_of("SELECT SUM(amount + age) FROM app").columns
    assert isinstance(column.expression, Aggregate)
    assert isinstance(column.expression.column, Amount)
    shares = [(share.column, share.kind) for share in column.expression.column.summed]
    assert shares == [("amount", "value"), ("amount", "present"), (None, "value")]


def test_totals_of_rows_are_sums_over_people() -> None:
    share = "COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY state)"
    statement = parsed(f"SELECT state, active, {share} AS share FROM app GROUP BY state, active")
    (column,) = statement.bases[0].columns
    assert label(column.expression) == "(COUNT(*) / COUNT(*) of several rows)"
    assert [output.is_estimate for output in statement.outputs] == [False, False, True]


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
