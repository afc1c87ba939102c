"""Answers from a survey that asks each person in one of several periods: about whom, and how far
they are off."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from support.surveys import integer, measure, survey_toml

from ldpsql.algebra.numerics import bound_probability
from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.engine.relation import Relation
from ldpsql.engine.sample import Estimators, Sample
from ldpsql.parser import parse
from ldpsql.planner.plan import make_plans
from ldpsql.randomize.table import randomize_batch
from ldpsql.reports.report import Histogram
from ldpsql.store import open_store
from ldpsql_device.errors import NotSupportedError
from ldpsql_lab.simulation import SeededEntropy, accept_everything, histogram_of

MONDAY, PEOPLE, EVERY = date(2026, 1, 5), 2_600, 13
WEEKS = 3
SURVEY = design(
    survey_toml(
        integer("age", 0, 3),
        measure("spent", 0, 10, required=True),
        '[public.version]\ntype = "text"\n',
        '[public.size]\ntype = "int"\n',
        epsilon="8",
        mechanism="grr",
        period="week",
        sample=f"1/{EVERY}",
        table="app",
    )
)
ALPHA = 1e-6


def people(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.choice(4, PEOPLE, p=[0.5, 0.25, 0.15, 0.1])
    return pa.table(
        {
            "age": age,
            "spent": np.clip(2.0 + 2 * age + random.normal(0, 1, PEOPLE), 0, 10),
            "version": np.where(random.random(PEOPLE) < 0.3, "1", "2"),
            "size": random.integers(1, 5, PEOPLE),
            "offset": random.integers(0, EVERY, PEOPLE),
        }
    )


def collect(seed: int, monkeypatch: pytest.MonkeyPatch, weeks: int = WEEKS) -> Connection:
    """The reports of some weeks of people who draw their offsets."""
    everybody, store = people(seed), open_store(None, read_only=False)
    for week in range(weeks):
        day = MONDAY + timedelta(days=7 * week)
        asked = everybody.filter(
            pa.array(everybody["offset"].to_numpy() == SURVEY.schedule.turn_of(day))
        )
        monkeypatch.setattr("ldpsql.randomize.table.utc_today", lambda day=day: day)
        entropy, policy = SeededEntropy(100 * seed + week), accept_everything(SURVEY)
        reports, _ = randomize_batch(SURVEY, asked, entropy, policy=policy)
        store.ingest_table(reports, SURVEY)
    return Connection(store)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with pytest.MonkeyPatch.context() as patch, collect(1, patch) as opened:
        yield opened


def test_people_who_were_not_asked_count(connection: Connection) -> None:
    result = connection.execute("SELECT period, COUNT(*) FROM app GROUP BY period").result
    counted, bars = result.table.column(1).to_numpy(), result.intervals[1]
    reports = counted / EVERY
    assert reports.sum() == result.reports
    assert (reports == np.rint(reports)).all()
    assert bars.stderr == pytest.approx(EVERY * np.sqrt(reports))
    assert (bars.low < PEOPLE).all()
    assert (bars.high > PEOPLE).all()


def test_of_averages_and_shares_only_the_reports_are_in_error(connection: Connection) -> None:
    """The number of people who were asked has no part in a quotient, to first order."""
    sql = "SELECT AVG(spent), COUNT_IF(age = 0) / COUNT(*), MEDIAN(age) FROM app"
    where = " WHERE period = '2026-01-05'"
    found = connection.execute(sql + where).result
    unscaled = Estimators._extend
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Estimators, "_extend", lambda self, values, covariance, _: (values, covariance)
        )
        connection.session.evidence.clear()
        plain = connection.execute(sql + where).result
    connection.session.evidence.clear()
    assert unscaled is Estimators._extend
    for place in range(3):
        assert found.table.column(place)[0].as_py() == pytest.approx(
            plain.table.column(place)[0].as_py()
        )
        assert found.intervals[place].stderr == pytest.approx(
            plain.intervals[place].stderr, rel=0.02
        )


def test_answers_say_who_was_asked_and_what_a_year_costs(connection: Connection) -> None:
    (note,) = (
        note
        for note in connection.execute(
            "SELECT COUNT(*) FROM app WHERE period = '2026-01-05'"
        ).result.notes
        if "in a row" in note
    )
    assert note == (
        "app: one in 13 people is asked each week, and counts for 13; of one person's answers 4 in "
        "any 52 weeks in a row have epsilon 32 together"
    )


def test_several_weeks_count_people_in_each(connection: Connection) -> None:
    result = connection.execute("SELECT COUNT(*), AVG(spent) FROM app").result
    (counted, _), bars = (column[0].as_py() for column in result.table.columns), result.intervals[0]
    assert counted == EVERY * result.reports
    assert bars.low[0] < WEEKS * PEOPLE < bars.high[0]
    assert any("a person counts in each of them" in note for note in result.notes)


def test_one_forged_report_counts_for_all_who_were_not_asked(connection: Connection) -> None:
    result = connection.execute("SELECT COUNT(*) FROM app WHERE period = '2026-01-05'").result
    assert result.forged()[0][1] == pytest.approx(EVERY)


def test_sums_of_public_columns_are_refused_and_groups_of_them_are_not(
    connection: Connection,
) -> None:
    for asked in ("SUM(size)", "AVG(size)", "COUNT(version)"):
        with pytest.raises(NotSupportedError, match="group by the column instead"):
            connection.execute(f"SELECT {asked} FROM app")
    sql = "SELECT version, COUNT(*) AS n FROM app WHERE period = '2026-01-05' GROUP BY version"
    result = connection.execute(sql).result
    truth = np.array([(people(1)["version"].to_numpy() == each).sum() for each in "12"])
    low, high = result.intervals[1].low, result.intervals[1].high
    assert (low < truth).all()
    assert (truth < high).all()


# -- how often intervals hold ---------------------------------------------------------------------

ASKED = {
    "COUNT(*)": lambda age, spent: len(age),
    "COUNT(*) FILTER (WHERE age = 3)": lambda age, spent: (age == 3).sum(),
    "SUM(spent)": lambda age, spent: spent.sum(),
    "AVG(spent)": lambda age, spent: spent.mean(),
    "QUANTILE_DISC(age, 0.7)": lambda age, spent: np.sort(age)[int(np.ceil(0.7 * len(age))) - 1],
}
DRAWS = 400


def weekly_histograms(random: np.random.Generator, everybody: pa.Table) -> list:
    """By week the reports of those who are asked then, of people who draw their offsets anew."""
    offsets = random.integers(0, EVERY, PEOPLE)
    found = []
    for week in range(WEEKS):
        asked = everybody.filter(pa.array(offsets == week))
        age, spent = (asked[name].to_numpy() for name in ("age", "spent"))
        levels = (random.random(len(age)) < spent / 10.0).astype(np.int64)
        entropy = SeededEntropy(int(random.integers(1 << 40)))
        reports = SURVEY.design.randomize(np.column_stack([age, levels]), entropy)
        found.append(((MONDAY + timedelta(days=7 * week),), histogram_of(reports)))
    return found


def relations(sql: str, seed: int) -> Iterator[Relation]:
    """What every one of many surveys tells of a question by period."""
    (base,) = parse(sql, None, lambda _: SURVEY).bases
    plan = make_plans(base, SURVEY, sql)[-1][1]
    random, everybody = np.random.default_rng(seed), people(seed)
    for _ in range(DRAWS):
        found = weekly_histograms(random, everybody)
        keys = tuple(key for key, _ in found)
        if not plan.public_keys:
            together = Histogram.of(
                found[0][1].types,
                [np.concatenate(c) for c in zip(*(h.columns for _, h in found), strict=True)],
                np.concatenate([h.counts for _, h in found]),
            )
            keys, found = ((),), [((), together)]
        estimators = Estimators(SURVEY.design, "unbiased", found, EVERY)
        yield Relation(Sample(plan, keys, (estimators,), "unbiased"), 0.95)


def coverage(sql: str, truths: list[float], seed: int = 5) -> tuple[NDArray, int]:
    """How often the intervals of the first row hold the truth, by column, of so many."""
    inside = np.zeros(len(truths))
    for relation in relations(sql, seed):
        for place, truth in enumerate(truths):
            bars = relation.forms[place].interval
            inside[place] += bars.low[0] <= truth <= bars.high[0]
    return inside, DRAWS


def is_below(hits: float, count: int, share: float) -> bool:
    """Whether so few hits show that fewer than a share hold."""
    return bound_probability(int(hits), count, ALPHA)[1] < share


@pytest.mark.fast(1)
@pytest.mark.parametrize("weeks", [1, WEEKS])
def test_intervals_hold_with_everybody_who_was_not_asked(weeks: int) -> None:
    """One week, and a sum over three; for a sum they may be too long, as people differ by week."""
    everybody = people(5)
    age, spent = (everybody[name].to_numpy() for name in ("age", "spent"))
    factors = [weeks if each.startswith(("COUNT", "SUM")) else 1 for each in ASKED]
    truths = [f * value(age, spent) for f, value in zip(factors, ASKED.values(), strict=True)]
    sql = f"SELECT {', '.join(ASKED)} FROM app"
    hits, count = coverage(f"{sql} GROUP BY period" if weeks == 1 else sql, truths)
    assert not any(is_below(each, count, 0.94) for each in hits)
    if weeks == 1:  # the number of those who are asked is 1 / 13 less uncertain than said
        assert bound_probability(int(hits[0]), count, ALPHA)[0] < 0.965


def test_control_without_who_was_asked_counts_do_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Estimators,
        "_extend",
        lambda _, values, covariance, people: (EVERY * values, EVERY**2 * covariance),
    )
    hits, count = coverage("SELECT COUNT(*) FROM app GROUP BY period", [PEOPLE])
    assert is_below(hits[0], count, 0.2)


@pytest.mark.fast(1)
def test_differences_between_weeks_hold() -> None:
    """Of two weeks in a row, with nobody in both: where one has more people the other has fewer."""
    inside = 0
    for relation in relations("SELECT COUNT(*) FROM app GROUP BY period", 5):
        values, variances = relation.sums.values[:, 0], relation.sums.covariance[:, 0, 0]
        inside += abs(values[0] - values[1]) <= 1.96 * np.sqrt(variances[0] + variances[1])
    low, high = bound_probability(int(inside), DRAWS, ALPHA)
    assert low <= 0.95 <= high
