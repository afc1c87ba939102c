"""Error bars of what outer queries compute: against differences, and by their coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from support.significance import coverage_fits
from support.surveys import category, integer, measure, public, survey_toml

from ldpsql.algebra.estimate import quantile
from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.engine import session as session_module
from ldpsql.engine.answer import make_propagation, relate
from ldpsql.engine.propagation import Covariances
from ldpsql.engine.result import Result
from ldpsql.parser import parse
from ldpsql.reports.report import Histogram
from ldpsql.store.base import Selection
from ldpsql_device.errors import NotSupportedError
from ldpsql_lab.simulation import simulate

_G = """WITH g AS (SELECT age, state, COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS m FROM app
GROUP BY age, state), h AS (SELECT state, COUNT(*) AS n FROM app WHERE age < 2 GROUP BY state) """
_PEOPLE = 3_000


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """Ages by states, a measure, and a public column."""
    survey = design(
        survey_toml(
            integer("age", 0, 3),
            category("state", "CA", "NY"),
            measure("pay", 0, 10),
            public("version", "int"),
            epsilon="2",
            mechanism="fourier",
        )
    )
    random = np.random.default_rng(2)
    people = pa.table(
        {
            "age": random.integers(0, 4, _PEOPLE),
            "state": np.array(["CA", "NY"])[random.integers(0, 2, _PEOPLE)],
            "pay": random.uniform(0, 10, _PEOPLE),
            "version": random.integers(0, 2, _PEOPLE),
        }
    )
    with simulate(survey, people, seed=3) as opened:
        yield opened


def only(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors of the last column."""
    last = len(result.columns) - 1
    return result.table.column(last).to_numpy().astype(float), result.intervals[last].stderr


def by_differences(connection: Connection, sql: str, step: float = 1e-3) -> np.ndarray:
    """Standard errors of the last column: the outer query evaluated on relations in which one
    estimate after the other is moved a little, and the joint covariance of the estimates."""
    session = connection.session
    statement = parse(sql, None, session.store.survey)
    draft = relate(session.draft(statement), session.evidence)
    relations = draft.relations
    tables = {name: relation.table for name, relation in relations.items()}
    last = len(statement.outputs) - 1

    database = duckdb.connect(config={"threads": 1})

    def evaluated(moved: dict[str, pa.Table]) -> np.ndarray:
        for name, table in {**tables, **moved}.items():
            database.register(name, table)
        found = database.sql(statement.outer).to_arrow_table()
        return found.column(last).to_numpy().astype(float)

    slopes, numbers = list[np.ndarray](), list[tuple[str, int, int]]()
    for base in statement.bases:
        for place, column in enumerate(base.columns):
            table = tables[base.relation]
            values = table.column(column.name).to_numpy().astype(float)
            index = table.schema.get_field_index(column.name)
            for row in range(len(values)):
                ends = []
                for sign in (1.0, -1.0):
                    changed = values.copy()
                    changed[row] += sign * step
                    moved = table.set_column(index, column.name, pa.array(changed))
                    ends.append(evaluated({base.relation: moved}))
                slopes.append((ends[0] - ends[1]) / (2.0 * step))
                numbers.append((base.relation, place, row))
    propagation = make_propagation(draft, session.evidence, session.evidence.confidence)
    names, points = (
        list(relations),
        [(n, r) for n, each in relations.items() for r in range(len(each))],
    )
    pairs = [(names.index(name), row) for name, row in points]
    (covariance,) = propagation.covariances.of_rows([pairs])
    gradient = np.zeros((len(numbers), len(covariance)))
    ends = np.cumsum([len(relations[name].plan.targets) for name, _ in points])
    for line, (name, place, row) in enumerate(numbers):
        slope = relations[name].forms[place].slope[row]
        end = ends[points.index((name, row))]
        gradient[line, end - slope.size : end] = slope
    by_sums = np.stack(slopes, axis=1) @ gradient
    return np.sqrt(np.einsum("rs,st,rt->r", by_sums, covariance, by_sums))


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT n FROM g ORDER BY age, state",
        "SELECT m FROM g ORDER BY age, state",
        "SELECT 2 * n - s / 3 + 1 FROM g ORDER BY age, state",
        "SELECT n * s / (1 + n * n) FROM g ORDER BY age, state",
        "SELECT SQRT(n) + LN(n) * EXP(m / 10) - n ** 1.5 + CBRT(s) FROM g ORDER BY age, state",
        "SELECT LOG10(n) + LOG2(s) + POW(1.1, m) + LOG(n) FROM g ORDER BY age, state",
        "SELECT SUM(n) OVER (PARTITION BY state ORDER BY age) FROM g ORDER BY age, state",
        "SELECT n / SUM(n) OVER (PARTITION BY age) FROM g ORDER BY age, state",
        "SELECT n / (SELECT SUM(n) FROM g) FROM g ORDER BY age, state",
        "SELECT n - LAG(n, 1, 0) OVER (PARTITION BY state ORDER BY age) FROM g ORDER BY age, state",
        "SELECT AVG(n) OVER (ORDER BY age ROWS 1 PRECEDING) FROM g WHERE state = 'CA' ORDER BY age",
        "SELECT age, SUM(n) FILTER (WHERE state = 'CA') / SUM(n) FROM g GROUP BY age ORDER BY age",
        "SELECT age, MAX(CASE WHEN state = 'NY' THEN n END) - AVG(n) FROM g GROUP BY 1 ORDER BY 1",
        "SELECT g.n / h.n FROM g JOIN h USING (state) ORDER BY age, state",
        "SELECT COALESCE(h.n, 0) - g.n FROM g LEFT JOIN h ON g.state = h.state AND h.state = 'CA' "
        "ORDER BY age, g.state",
        "SELECT n FROM g UNION ALL SELECT SUM(s) FROM g UNION ALL SELECT 4.5 ORDER BY 1",
        "SELECT SUM(CASE state WHEN 'CA' THEN n ELSE -n END) FROM g",
        "SELECT (SELECT SUM(x.n) FROM g x WHERE x.age <= g.age) / n FROM g ORDER BY age, state",
        "SELECT a.n - b.n FROM h a, h b WHERE a.state < b.state",
    ],
)
def test_error_bars_agree_with_differences(connection: Connection, query: str) -> None:
    values, stderr = only(connection.execute(_G + query).result)
    expected = by_differences(connection, _G + query)
    known = ~np.isnan(values)
    assert known.any()
    assert stderr[known] == pytest.approx(expected[known], rel=1e-4, abs=1e-6)


@given(
    weights=st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    constant=st.floats(-5, 5),
)
@seed(1)
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
def test_linear_maps_have_the_variance_of_linear_maps(
    connection: Connection, weights: list[int], constant: float
) -> None:
    """Whatever the weights, and however the sum is written."""
    base = "SELECT age, state, COUNT(*) AS n FROM app GROUP BY age, state"
    together = connection.execute(base).estimates
    lines = connection.execute(base).fetchall()
    whens = " ".join(
        f"WHEN age = {age} AND state = '{state}' THEN {weight}"
        for (age, state, _), weight in zip(lines, weights, strict=True)
    )
    mapped = together.map(np.array([weights], dtype=float))
    for sql in (
        f"SELECT SUM(n * CASE {whens} END) + {constant} FROM ({base})",
        f"SELECT DISTINCT ON (1) {constant} + SUM(n * CASE {whens} END) OVER () FROM ({base})",
    ):
        result = connection.execute(sql).result
        values, stderr = only(result)
        assert values[0] == pytest.approx(mapped.values[0] + constant, abs=1e-6)
        assert stderr[0] == pytest.approx(mapped.stderr[0], rel=1e-6, abs=1e-4)
        half = quantile(0.95) * stderr[0]
        bars = result.intervals[0]
        assert (bars.low[0], bars.high[0]) == pytest.approx((values[0] - half, values[0] + half))


def test_what_is_taken_over_keeps_its_interval(connection: Connection) -> None:
    """Through a CTE to the last digit; a factor scales it, a negative one turns it round."""
    base = "SELECT age, AVG(pay) AS m FROM app GROUP BY age"
    plain = connection.execute(base).result
    taken = connection.execute(f"WITH t AS ({base}) SELECT * FROM t ORDER BY age").result
    turned = connection.execute(f"SELECT age, 3 - 2 * m FROM ({base}) ORDER BY age").result
    for end in ("stderr", "low", "high"):
        assert (getattr(taken.intervals[1], end) == getattr(plain.intervals[1], end)).all()
    bars = plain.intervals[1]
    assert turned.intervals[1].low == pytest.approx(3 - 2 * bars.high)
    assert turned.intervals[1].high == pytest.approx(3 - 2 * bars.low)


def test_the_interval_of_a_rounded_number_is_that_of_the_plain_one(connection: Connection) -> None:
    base = "SELECT COUNT(*) AS n FROM app WHERE age < 2"
    plain = connection.execute(base).result
    rounded = connection.execute(f"SELECT ROUND(n, -3), n::INT, n // 7 FROM ({base})").result
    bars = plain.intervals[0]
    for place in (0, 1):
        assert rounded.intervals[place].low == pytest.approx(bars.low)
        assert rounded.intervals[place].stderr == pytest.approx(bars.stderr)
    assert rounded.intervals[2].high == pytest.approx(bars.high / 7)
    assert rounded.table.column(0)[0].as_py() % 1000 == 0


def test_exact_numbers_have_an_error_of_zero(connection: Connection) -> None:
    cursor = connection.execute(
        "SELECT version, COUNT(*) AS n FROM app GROUP BY version ORDER BY 1"
    )
    table = cursor.arrow(intervals=True)
    assert table.column("n_stderr").to_pylist() == [0.0, 0.0]
    assert table.column("n_low").to_pylist() == table.column("n").to_pylist()
    same = connection.execute("SELECT n / n FROM (SELECT COUNT(*) AS n FROM app WHERE age = 1)")
    assert same.result.intervals[0].stderr == [0.0]


def test_people_who_differ_are_independent_and_others_are_not_guessed(
    connection: Connection,
) -> None:
    """Disjoint by a public column: variances add. Partly the same people: no error bar."""
    some = "(SELECT COUNT(*) AS n FROM app WHERE age < 2 AND version = {})"
    apart = [connection.execute(f"SELECT n FROM {some.format(v)}").result for v in (0, 1)]
    sql = f"SELECT a.n - b.n AS d FROM {some.format(0)} a, {some.format(1)} b"
    _, stderr = only(connection.execute(sql).result)
    assert stderr[0] == pytest.approx(math.hypot(*(only(each)[1][0] for each in apart)))
    everybody = "(SELECT COUNT(*) AS n FROM app WHERE age < 2)"
    mixed = connection.execute(f"SELECT a.n - b.n AS d FROM {some.format(0)} a, {everybody} b")
    assert not mixed.result.intervals
    assert any("no error bar for d: it compares people" in note for note in mixed.notes)


def test_notes_say_which_column_has_no_error_bar_and_why(connection: Connection) -> None:
    notes = connection.execute(
        _G + "SELECT MAX(n) AS top, SUM(n) AS total, COUNT(*) FILTER (WHERE n > 3) AS big FROM g"
    ).notes
    assert "no error bar for top: MAX of several estimates" in notes
    assert "no error bar for big: estimates choose the rows that it is computed from" in notes
    assert not any("total" in note for note in notes)
    one = connection.execute(_G + "SELECT state, MAX(n), MIN(n) FROM h GROUP BY ALL")
    assert set(one.result.intervals) == {1, 2}


def test_a_column_of_texts_and_estimates_has_no_error_bar(connection: Connection) -> None:
    """`UNION ALL` with a text makes texts of all."""
    answered = connection.execute(
        "SELECT COUNT(*) AS label FROM app WHERE age < 2 UNION ALL SELECT 'all'"
    )
    assert answered.result.table.column(0).to_pylist()[1] == "all"
    assert not answered.result.intervals
    assert "no error bar for label: some of its rows are texts" in answered.notes


def test_a_covariance_that_is_too_large_is_refused(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error bar is lost with a note; `estimates` raises."""
    monkeypatch.setattr("ldpsql.engine.propagation._LARGEST_JOINT", 4)
    cursor = connection.execute(_G + "SELECT SUM(n * age) AS t FROM g")
    assert any("no error bar for t: it depends on too many estimates" in n for n in cursor.notes)
    with pytest.raises(NotSupportedError, match="too large"):
        _ = connection.execute("SELECT age, COUNT(*) FROM app GROUP BY age, state").estimates


def test_both_ways_to_the_covariance_agree(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of all sums, and one for each row."""
    sql = _G + "SELECT n - LAG(n) OVER (ORDER BY age, state) FROM g ORDER BY age, state"
    _, each = only(connection.execute(sql).result)
    monkeypatch.setattr("ldpsql.engine.propagation._MOST_ENTRIES", -1)
    total = _G + "SELECT SUM(n * (age + 1)) OVER (ORDER BY age, state) FROM g ORDER BY age, state"
    assert any("too many" in note for note in connection.execute(sql).notes)
    assert not any("too many" in note for note in connection.execute(total).notes)
    monkeypatch.undo()
    assert np.isnan(each[0])
    assert (each[1:] > 0).all()


def test_of_few_numbers_each_has_the_derivatives_of_its_own_sums(connection: Connection) -> None:
    """Where estimates of two relations, of unlike errors, count unlike."""
    sql = _G + "SELECT g.n - 3 * h.n FROM g JOIN h USING (state) ORDER BY age, state"
    errors = only(connection.execute(sql).result)[1]
    assert errors == pytest.approx(by_differences(connection, sql), rel=1e-5)


# -- coverage ----------------------------------------------------------------------------------

_SHARES = np.array([[0.2, 0.05, 0.1, 0.15], [0.05, 0.25, 0.15, 0.05]]).T.ravel()
"""Of the cells (age, state), ages outermost."""
_CELLS = "WITH g AS (SELECT age, state, COUNT(*) AS n FROM app GROUP BY age, state), "
_PARTS = (
    "h AS (SELECT state, COUNT(*) AS n FROM app WHERE age < 2 GROUP BY state), "
    "k AS (SELECT state, COUNT(*) AS n FROM app WHERE age IN (0, 1) GROUP BY state)"
)
_COVERED = f"""{_CELLS}{_PARTS}
SELECT 0 AS kind, age, state, ROUND(n) AS v FROM g
UNION ALL SELECT 1, age, state, SUM(n) OVER (PARTITION BY state ORDER BY age) FROM g
UNION ALL SELECT 2, age, state, n - LAG(n) OVER (PARTITION BY state ORDER BY age) FROM g
UNION ALL SELECT 3, age, state, g.n / h.n FROM g JOIN h USING (state) WHERE age < 2
UNION ALL SELECT 4, 0, 'CA', a.n - b.n FROM h a JOIN h b ON a.state < b.state
UNION ALL SELECT 5, age, state, n / SUM(n) OVER (PARTITION BY state) FROM g
UNION ALL SELECT 6, 0, h.state, h.n + k.n + (SELECT SUM(n) FROM g WHERE state = h.state AND age < 2)
FROM h JOIN k USING (state)
ORDER BY kind, age, state
"""


def truth(people: int) -> np.ndarray:
    """What `_COVERED` estimates, row by row."""
    n = people * _SHARES.reshape(4, 2)
    early = n[:2].sum(axis=0)
    steps = np.vstack([[math.nan, math.nan], np.diff(n, axis=0)])
    parts = [n, n.cumsum(axis=0), steps, n[:2] / early, early[:1] - early[1:], n / n.sum(axis=0)]
    parts.append(3 * early)
    return np.concatenate([part.ravel() for part in parts])


def coverage(runs: int, monkeypatch: pytest.MonkeyPatch, *, joint: bool = True) -> np.ndarray:
    """How often the intervals of every row hold the truth; reports are drawn from their law.

    joint: False for the broken variant in which estimates are taken for independent.
    """
    survey = design(
        survey_toml(
            integer("age", 0, 3), category("state", "CA", "NY"), epsilon="2", mechanism="grr"
        )
    )
    people, random = 2_000, np.random.default_rng(5)
    monkeypatch.setattr(session_module, "parse", cache(parse))
    if not joint:
        whole = Covariances.of_rows
        monkeypatch.setattr(
            Covariances,
            "of_rows",
            lambda self, rows: (np.diag(np.diagonal(own)) for own in whole(self, rows)),
        )
    table = pa.table({"age": [0, 1, 2, 3] * 2, "state": ["CA", "NY"] * 4})
    odds = math.exp(2.0)
    law = (np.full((8, 8), 1.0) + (odds - 1.0) * np.eye(8)) / (odds + 7.0)
    inside = np.zeros(len(truth(people)))
    with simulate(survey, table, seed=1) as connection:
        session = connection.session
        (_, shape), *_ = session.store.histograms("app", Selection())
        cells = np.arange(8, dtype=np.uint8)
        columns = (np.zeros(8, dtype=shape.columns[0].dtype), cells.astype(shape.columns[1].dtype))
        for _ in range(runs):
            answered = random.multinomial(people, _SHARES)
            counts = sum(random.multinomial(n, law[cell]) for cell, n in enumerate(answered))
            drawn = Histogram(1, columns, np.asarray(counts))
            monkeypatch.setattr(session.store, "histograms", lambda *_, own=drawn: [((), own)])
            session.evidence.clear()
            bars = session.execute(_COVERED).intervals[3]
            inside += (bars.low <= truth(people)) & (truth(people) <= bars.high)
    return inside[~np.isnan(truth(people))]


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through UNION ALL, joins, windows, shares and ROUND."""
    runs = 3_000
    inside = coverage(runs, monkeypatch)
    assert all(coverage_fits(int(each), runs) for each in inside), inside / runs


@pytest.mark.slow
def test_without_covariances_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control, for which few runs are enough."""
    inside = coverage(40, monkeypatch, joint=False)
    assert not all(coverage_fits(int(each), 40) for each in inside), inside / 40
