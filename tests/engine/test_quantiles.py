"""Quantiles and modes: their definitions, intervals, and what SQL says of them."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import category, dimension, integer, measure, survey_toml

from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.numerics import bound_probability
from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.engine import arithmetic
from ldpsql.engine.arithmetic import Form, Sums, form_of
from ldpsql.engine.session import Session
from ldpsql.sql.aggregates import Mode, Quantile, Target
from ldpsql_lab.simulation import simulate

VALUES = (1.0, 2.0, 4.0, 7.0, 8.0, 11.0)
PEOPLE = Target()
BELOW = tuple(Target(amounts=(0, ((1.0, ((0, code),)),))) for code in range(1, len(VALUES)))


def of(share: float, rule: str = "disc", *, descending: bool = False, **more: object) -> Quantile:
    """A quantile of VALUES."""
    known = {"values": VALUES, "highest": VALUES, "people": PEOPLE, "below": BELOW, **more}
    return Quantile(share, rule, descending, **known)  # type: ignore[arg-type]


def form(function: Quantile, counts: list[float], error: float = 0.0, level: float = 0.95) -> Form:
    """Its form where so many people have each value, and every prefix has a standard error."""
    values = np.array([sum(counts), *np.cumsum(counts)[:-1]])
    covariance = np.diag([0.0, *[error**2] * len(BELOW)])
    return form_of(function, (PEOPLE, *BELOW), Sums(values[None], covariance[None], level))


SHARES = (0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 0.999, 1.0)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("counts", [[3, 0, 2, 5, 1, 4], [0, 0, 1, 0, 0, 0], [7, 0, 0, 0, 0, 3]])
def test_definitions_are_those_of_numpy(share: float, counts: list[int]) -> None:
    """ "cont" is its linear rule, "disc" its inverted distribution function."""
    people = np.repeat(VALUES, counts)
    for rule, method in (("cont", "linear"), ("disc", "inverted_cdf")):
        expected = np.quantile(people, share, method=method)
        assert form(of(share, rule), counts).value[0] == pytest.approx(expected)
        from_above = -np.quantile(-people, share, method=method)
        found = form(of(share, rule, descending=True), counts).value[0]
        assert found == pytest.approx(from_above)


def test_without_errors_the_interval_is_the_value() -> None:
    bars = form(of(0.5), [3, 0, 2, 5, 1, 4]).interval
    assert (bars.low[0], bars.high[0], bars.stderr[0]) == (7.0, 7.0, 0.0)


def test_the_interval_holds_the_values_that_the_test_does_not_reject() -> None:
    """With 70 people up to 2, 100 up to 4, 150 up to 7 and a standard error of 15, the 110th may
    have 4 or 7, but neither 2 nor 8: 1.645 x 15 is 24.7, as these errors are independent."""
    counts = [60, 10, 30, 50, 40, 10]
    bars = form(of(0.55), counts, 15.0).interval
    assert (bars.low[0], bars.high[0]) == (4.0, 7.0)
    wide = form(of(0.55), counts, 15.0, level=0.9999).interval
    assert (wide.low[0], wide.high[0]) == (1.0, 8.0)
    assert bars.stderr[0] == pytest.approx(3.0 / (2.0 * quantile(0.95)))


@pytest.mark.parametrize("share", [0.1, 0.45, 0.9])
def test_from_above_the_interval_is_that_of_the_rest_from_below(share: float) -> None:
    """Where the number of people is uncertain, too: the rank grows with it by the rest alone."""
    values = np.array([200.0, 60.0, 70.0, 100.0, 150.0, 190.0])
    covariance = np.diag([40.0**2, *[15.0**2] * len(BELOW)])
    sums = Sums(values[None], covariance[None], 0.95)
    asked = of(share, "cont", descending=True), of(1.0 - share, "cont")
    above, below = (form_of(each, (PEOPLE, *BELOW), sums).interval for each in asked)
    assert (above.low[0], above.high[0]) == (below.low[0], below.high[0])
    assert above.stderr[0] == pytest.approx(below.stderr[0])


def test_counts_that_do_not_grow_are_put_in_order() -> None:
    """The value and both ends lie in order whatever the estimates are."""
    random = np.random.default_rng(1)
    for _ in range(200):
        counts = [*random.normal(10, 60, len(VALUES) - 1), 0.0]
        counts[-1] = 200.0 - sum(counts)
        found = form(of(random.random()), counts, 20.0)
        assert found.interval.low[0] <= found.value[0] <= found.interval.high[0]


def test_the_interval_has_no_gaps() -> None:
    """Of 300 people 195 are counted up to 4, and 100 up to 8: both 4 and 11 may be the median, and
    so may what lies between."""
    counts = [100.0, 5.0, 90.0, -95.0, 0.0, 200.0]
    bars = form(of(0.5), counts, 15.0).interval
    assert (bars.low[0], bars.high[0]) == (4.0, 11.0)


def _coverage(steps: list[float], correlation: float, draws: int = 4_000) -> float:
    """How often the interval holds the quantile whose counts differ from its rank by so much, in
    standard errors; errors of all counts have one correlation with the next, and so on."""
    count, codes = 10_000, len(steps) + 1
    values = tuple(float(code) for code in range(codes))
    below = tuple(Target(amounts=(0, ((1.0, ((0, code),)),))) for code in range(1, codes))
    function = Quantile(0.5, "disc", False, values, values, PEOPLE, below)
    place = np.arange(codes - 1)
    covariance = np.zeros((codes, codes))
    covariance[1:, 1:] = 50.0**2 * correlation ** np.abs(place[:, None] - place)
    truth = np.append(count, count / 2 - 0.5 + 50.0 * np.array(steps))
    random = np.random.default_rng(8)
    drawn = random.multivariate_normal(truth, covariance, draws, method="eigh")
    sums = Sums(drawn, np.broadcast_to(covariance, (draws, codes, codes)), 0.95)
    bars = form_of(function, (PEOPLE, *below), sums).interval
    quantile_of_all = int(np.sum(np.array(steps) < 0.0))
    return float(np.mean((bars.low <= quantile_of_all) & (quantile_of_all <= bars.high)))


FLAT = [-9.0] * 20 + [0.02] * 30 + [9.0] * 20
"""One value that just reaches the rank, and nobody with any of those around it."""
JUST_BELOW = [-9.0] * 20 + [-0.02] * 30 + [9.0] * 20
LOW_AND_HIGH = [-9.0] * 20 + [-0.02] + [0.02] + [9.0] * 20
"""A value that hardly anybody has, at the rank, between two that many have."""


@pytest.mark.fast(1)
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.85, 0.97, 1.0])
@pytest.mark.parametrize("steps", [FLAT, JUST_BELOW, LOW_AND_HIGH, [-5.0, 0.0, 5.0]])
def test_intervals_cover_wherever_people_are(steps: list[float], correlation: float) -> None:
    """At least 95 % of the time, however the errors at neighbouring values agree."""
    covered = _coverage(steps, correlation)
    low, high = bound_probability(round(4_000 * covered), 4_000, 1e-6)
    assert high >= 0.95
    if steps in (FLAT, JUST_BELOW):  # one count alone can err
        assert low <= 0.975


@pytest.mark.slow
def test_tests_of_one_side_alone_would_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: neighbours taken for independent where they agree."""
    assert _coverage(LOW_AND_HIGH, 0.97) > 0.94
    one_sided = quantile(0.9)
    monkeypatch.setattr(arithmetic, "_reach_of_neighbours", lambda *_: one_sided)
    assert _coverage(LOW_AND_HIGH, 0.97) < 0.94


def test_nobody_has_no_quantile() -> None:
    assert np.isnan(form(of(0.5), [0] * 6).value[0])
    assert np.isnan(form(of(0.5), [0] * 6).interval.low[0])


def test_a_code_of_several_values_ends_with_its_highest() -> None:
    highest = (1.0, 3.0, 6.0, 7.0, 10.0, 12.0)
    found = form(of(0.5, highest=highest), [3, 0, 2, 5, 1, 4])
    assert (found.value[0], found.interval.high[0]) == (7.0, 7.0)
    assert form(of(1.0, highest=highest), [3, 0, 2, 5, 1, 4]).interval.high[0] == 12.0


def test_several_intervals_hold_together() -> None:
    """Each is wider than alone, and no wider than errors that are shared out (Bonferroni), where a
    share that is asked twice is tested with the two-sided quantile, as several are."""
    counts, together = [400.0, 100.0, 300.0, 500.0, 400.0, 100.0], (0.2, 0.5, 0.8)
    for share in together:
        alone = form(of(share), counts, 60.0).interval
        joint = form(of(share, together=together), counts, 60.0).interval
        twice = of(share, together=(share, share))
        shared = form(twice, counts, 60.0, level=1.0 - 0.05 / 3).interval
        assert shared.low[0] <= joint.low[0] <= alone.low[0]
        assert alone.high[0] <= joint.high[0] <= shared.high[0]


def test_the_joint_level_is_that_of_independent_variables() -> None:
    """For uncorrelated statistics the level of each is the root of the level."""
    from ldpsql.engine.arithmetic import _largest_of  # noqa: PLC0415

    expected = NormalDist().inv_cdf(0.5 + 0.95 ** (1 / 3) / 2)
    assert _largest_of(np.diag([1.0, 4.0, 9.0]), 0.95) == pytest.approx(expected, rel=0.02)
    assert _largest_of(np.ones((3, 3)), 0.95) == pytest.approx(quantile(0.95), rel=0.02)


def test_a_mode_may_be_what_nothing_significantly_exceeds() -> None:
    """A lead of 40 with errors of 10 each is told from none, one of 20 is not."""
    cells = tuple(Target(amounts=(0, ((1.0, ((code, code + 1),)),))) for code in range(4))
    function = Mode((1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 3.0, 5.0), cells)
    sums = Sums(np.array([[10.0, 50.0, 70.0, 20.0]]), np.eye(4)[None] * 100.0, 0.95)
    found = form_of(function, cells, sums)
    assert found.value[0] == 3.0
    assert (found.interval.low[0], found.interval.high[0]) == (2.0, 3.0)


@pytest.mark.parametrize(
    ("counts", "level", "highest"),
    [
        ([100.0, 90.0], 0.95, 1.0),
        ([100.0, 54.0], 0.95, 1.0),
        ([100.0, 53.0], 0.95, 0.0),  # 47 lie beyond 1.645 errors of the lead, 46 do not
        ([100.0, 90.0], 0.3, 0.0),
    ],
)
def test_a_mode_of_two_values_is_tested_as_well(
    counts: list[float], level: float, highest: float
) -> None:
    """There is one other value, so the test has all of the error to itself."""
    cells = tuple(Target(amounts=(0, ((1.0, ((code, code + 1),)),))) for code in range(2))
    sums = Sums(np.array([counts]), np.eye(2)[None] * 400.0, level)
    found = form_of(Mode((0.0, 1.0), (0.0, 1.0), cells), cells, sums)
    assert found.value[0] == 0.0
    assert (found.interval.low[0], found.interval.high[0]) == (0.0, highest)


# -- by SQL -------------------------------------------------------------------------------------

SURVEY = survey_toml(
    *(integer("age", 18, 57), integer("hours", 0, 79, bin_width=10), category("state", "CA", "NY")),
    dimension("day", "date", range=["2026-01-01", "2026-01-07"], unit="day"),
    measure("pay", 0, 100),
    table="people",
    epsilon="4",
    mechanism="fourier",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    random = np.random.default_rng(3)
    people = 10_000
    table = {
        "age": np.clip(random.normal(35, 8, people), 18, 57).astype(np.int64),
        "hours": np.clip(random.normal(38, 12, people), 0, 79).astype(np.int64),
        "state": random.choice(["CA", "NY"], people),
        "pay": random.uniform(0, 100, people),
        "day": np.datetime64("2026-01-01") + random.integers(0, 7, people),
    }

    with simulate(design(SURVEY), pa.table(table), seed=1) as opened:
        yield opened


@pytest.mark.fast(3)
@pytest.mark.parametrize(
    "sql",
    [
        "MEDIAN(age)",
        "QUANTILE_CONT(age, 0.5)",
        "QUANTILE_DISC(age, 0.5)",
        "QUANTILE(age, 0.5)",
        "APPROX_QUANTILE(age, 0.5)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
        "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age DESC)",
        "MEDIAN(age) FILTER (WHERE state IN ('CA', 'NY'))",
    ],
)
def test_every_spelling_of_the_median(connection: Connection, sql: str) -> None:
    result = connection.execute(f"SELECT {sql} FROM people").result
    (value,) = result.table.column(0).to_pylist()
    bars = result.intervals[0]
    assert bars.low[0] <= value <= bars.high[0]
    assert abs(value - 34) <= 2


def test_a_list_of_shares_gives_columns_that_hold_together(connection: Connection) -> None:
    sql = 'SELECT QUANTILE_CONT(age, [0.1, 0.9]) AS q, COUNT(*) FROM people ORDER BY "q[1]"'
    result = connection.execute(sql).result
    assert result.table.column_names == ["q[1]", "q[2]", "COUNT(*)"]
    assert any("hold together" in note for note in result.notes)
    alone = connection.execute("SELECT QUANTILE_CONT(age, 0.1) FROM people").result
    assert result.intervals[0].low[0] <= alone.intervals[0].low[0]
    assert result.intervals[0].high[0] >= alone.intervals[0].high[0]


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("MEDIAN(2 * age + 1)", "2 * MEDIAN(age) + 1"),
        ("QUANTILE_DISC(100 - age, 0.9)", "100 - QUANTILE_DISC(age, -0.9)"),
        ("QUANTILE_DISC(sqrt(age), 0.3)", "SQRT(QUANTILE_DISC(age, 0.3))"),
    ],
)
def test_quantiles_of_numbers_over_a_dimension(
    connection: Connection, sql: str, meant: str
) -> None:
    """Of a function that grows, or falls, with the values it is that of the quantile."""
    ours, theirs = (
        connection.execute(f"SELECT {each} FROM people").result for each in (sql, meant)
    )
    assert ours.table.column(0).to_pylist() == pytest.approx(theirs.table.column(0).to_pylist())
    if "SQRT" not in meant:
        left, right = ours.intervals[0], theirs.intervals[0]
        assert [left.low[0], left.high[0]] == pytest.approx([right.low[0], right.high[0]])


def test_dates_are_asked_as_numbers_of_days(connection: Connection) -> None:
    result = connection.execute("SELECT MEDIAN(day - DATE '2026-01-01') FROM people").result
    assert 2 <= result.table.column(0)[0].as_py() <= 4


def test_values_that_a_function_does_not_tell_apart_are_one(connection: Connection) -> None:
    sql = "SELECT MODE(age // 10), MEDIAN(age // 10), MODE(length(state)) FROM people"
    result = connection.execute(sql).result
    assert [column[0].as_py() for column in result.table.columns] == [3.0, 3.0, 2.0]
    assert result.intervals[2].low[0] == result.intervals[2].high[0] == 2.0


def test_bins_are_answered_as_bins(connection: Connection) -> None:
    result = connection.execute("SELECT MEDIAN(hours), MODE(hours) FROM people").result
    assert [column[0].as_py() for column in result.table.columns] == [30.0, 30.0]
    assert result.intervals[0].high[0] % 10 == 9
    assert any("collected in bins" in note for note in result.notes)


def test_groups_conditions_and_error_bars(connection: Connection) -> None:
    sql = (
        "SELECT state, MEDIAN(age) AS m, CI_LOW(MEDIAN(age)) AS low, STDERR(MEDIAN(age)) AS s "
        "FROM people WHERE age > 30 GROUP BY state HAVING MEDIAN(age) > 20 ORDER BY state"
    )
    result = connection.execute(sql).result
    assert result.table["state"].to_pylist() == ["CA", "NY"]
    assert result.table["low"].to_pylist() == result.intervals[1].low.tolist()
    assert result.table["s"].to_pylist() == result.intervals[1].stderr.tolist()
    estimates = result.estimates()
    assert np.diagonal(estimates.covariance) == pytest.approx(result.intervals[1].stderr ** 2)


def test_post_processed_quantiles_have_typical_errors(connection: Connection) -> None:
    session = Session(connection.session.store, estimator="smooth")
    result = session.execute("SELECT MEDIAN(age), STDDEV(age), MODE(hours) FROM people")
    assert all(np.isfinite(result.typical[column]).all() for column in range(3))
    assert abs(result.table.column(0)[0].as_py() - 34) <= 2


# -- distributions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("SELECT HISTOGRAM(state) FROM people", "SELECT state, COUNT(*) FROM people GROUP BY 1"),
        (
            "SELECT state AS s, HISTOGRAM(age) FROM people WHERE age < 30 GROUP BY s",
            "SELECT state, age, COUNT(*) FROM people WHERE age < 30 GROUP BY ALL",
        ),
        (
            "SELECT HISTOGRAM(hours) AS n FROM people WHERE age < 30 OR age > 40 ORDER BY n",
            "SELECT hours, COUNT(*) AS n FROM people WHERE NOT (age BETWEEN 30 AND 40) "
            "GROUP BY hours ORDER BY n",
        ),
        (
            "SELECT CDF(age, 30), 1 - CDF(age, 50) FROM people",
            "SELECT AVG(age <= 30), 1 - AVG(age <= 50) FROM people",
        ),
        (
            "SELECT state, CDF(hours, 39) AS c FROM people GROUP BY state ORDER BY c",
            "SELECT state, COUNT_IF(hours < 40) / COUNT(*) AS c FROM people GROUP BY 1 ORDER BY c",
        ),
        (
            "SELECT age, COUNT(*) FROM people GROUP BY age HAVING CDF(hours, 39) > 0.5 "
            "QUALIFY RANK() OVER (ORDER BY CDF(hours, 39)) < 9 ORDER BY CDF(hours, 39)",
            "SELECT age, COUNT(*) FROM people GROUP BY age HAVING AVG(hours < 40) > 0.5 "
            "QUALIFY RANK() OVER (ORDER BY AVG(hours < 40)) < 9 ORDER BY AVG(hours < 40)",
        ),
    ],
)
def test_distributions_are_groups_and_shares(connection: Connection, sql: str, meant: str) -> None:
    ours, theirs = (connection.execute(text).result for text in (sql, meant))
    for index, (left, right) in enumerate(
        zip(ours.table.columns, theirs.table.columns, strict=True)
    ):
        if index not in ours.intervals:
            assert left.to_pylist() == right.to_pylist()
            continue
        assert left.to_numpy() == pytest.approx(right.to_numpy())
        assert ours.intervals[index].low == pytest.approx(theirs.intervals[index].low)
