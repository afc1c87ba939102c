"""Answers about everybody: what margins make of reports of those who took part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.noise_free import ExactBoxes, ExactMechanism, ExactNodes, exact_survey
from support.significance import coverage_fits, is_unbiased, variance_fits
from support.surveys import ANYTHING, category, integer, measure, survey_toml
from support.tiers import keep_fast

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Estimates, rows_of
from ldpsql.designer import design
from ldpsql.engine.relation import Relation
from ldpsql.engine.sample import Sample
from ldpsql.engine.session import Session
from ldpsql.estimators.base import AnyEstimator, make_estimator
from ldpsql.mechanisms import registry
from ldpsql.parser import parse
from ldpsql.planner.plan import Key, make_plans
from ldpsql.population.margins import Margins, read_margins
from ldpsql.population.poststratify import Poststratified
from ldpsql.population.sources import Population
from ldpsql.population.strata import strata_of
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql.store.base import Selection
from ldpsql.survey import Survey
from ldpsql_device.errors import DataError
from ldpsql_device.schema import Dimension, Measure, PublicColumn, Schema
from ldpsql_device.values import BOOL, Listed, int_domain
from ldpsql_lab.simulation import SeededEntropy, histogram_of

AGES, PEOPLE, ANSWERED = 10, 1_000_000.0, 25_000
SQL = """SELECT COUNT(*) FILTER (WHERE age < 3) AS young, AVG(pay) AS pay,
AVG(pay) FILTER (WHERE sex = 'F') AS hers, SUM(pay) FILTER (WHERE age >= 4) AS paid,
COUNT(*) FILTER (WHERE age >= 5 AND sex = 'F') / COUNT(*) AS share,
AVG(pay) FILTER (WHERE age >= 7) AS old FROM app"""


@cache
def survey(epsilon: str = "3") -> Survey:
    """Two dimensions and a measure."""
    columns = integer("age", 0, 9), category("sex", "F", "M"), measure("pay", 0, 10)
    return design(survey_toml(*columns, epsilon=epsilon, mechanism="fourier"))


@dataclass(frozen=True)
class World:
    """A population by age and sex, its mean pay, and how likely people of a kind take part; all of
    shape (ages, 2). Who takes part depends on the strata alone."""

    people: np.ndarray
    pay: np.ndarray
    part: np.ndarray

    @classmethod
    def of(cls, kind: str) -> World:
        """joint: participation by bands of age and by sex; raked: by their product."""
        age, female = np.meshgrid(np.arange(AGES), [1, 0], indexing="ij")
        people = np.exp(-0.1 * age) * np.where(female, 1.0 + 0.05 * age, 1.0)
        band = np.digitize(age, (4, 7))
        part = np.choose(band, (0.1, 0.2, 0.5)) * np.where(female, 0.6, 1.0)
        part = part * np.where((band == 1) & (female == 1) & (kind == "joint"), 2.0, 1.0)
        return cls(people * PEOPLE / people.sum(), 2.0 + 0.5 * age + female, part)

    def margins(self, kind: str) -> Margins:
        """As an analyst would give them: one table, or two."""
        bands = ("0..3", "4-6", "7+")
        by_band = np.add.reduceat(self.people, (0, 4, 7))
        if kind == "joint":
            rows = [(bands[i], "FM"[j], by_band[i, j]) for i in range(3) for j in range(2)]
            ages, sexes, counts = zip(*rows, strict=True)
            return read_margins(pa.table({"age": ages, "sex": sexes, "people": counts}))
        ages = pa.table({"age": bands, "people": by_band.sum(axis=1)})
        return read_margins([ages, pa.table({"sex": ["F", "M"], "people": by_band.sum(axis=0)})])

    def truth(self) -> dict[str, float]:
        """What SQL asks, of the population."""
        people, pay = self.people, self.people * self.pay
        return {
            "young": people[:3].sum(),
            "pay": pay.sum() / people.sum(),
            "hers": pay[:, 0].sum() / people[:, 0].sum(),
            "paid": pay[4:].sum(),
            "share": people[5:, 0].sum() / people.sum(),
            "old": pay[7:].sum() / people[7:].sum(),
        }

    def estimator(self, survey: Survey, seed: int, answered: int = ANSWERED) -> AnyEstimator:
        """The reports of those who take part."""
        random = np.random.default_rng(seed)
        shares = (self.people * self.part).ravel()
        cells = random.choice(shares.size, answered, p=shares / shares.sum())
        signs = random.random(answered) < self.pay.ravel()[cells] / 10.0
        codes = np.stack([cells // 2, cells % 2, signs], axis=1).astype(np.int64)
        return make_estimator(
            survey.design, histogram_of(survey.design.randomize(codes, SeededEntropy(seed)))
        )


def weighted(survey: Survey, estimator: AnyEstimator, margins: Margins) -> Relation:
    """The relation of SQL for a population."""
    (base,) = parse(SQL, None, lambda _: survey).bases
    plan = make_plans(base, survey, SQL)[-1][1]

    def estimators_of(_: Selection) -> Mapping[Key, AnyEstimator]:
        return {(): estimator}

    sample = Sample.of(plan, estimators_of, "unbiased")
    return Relation(
        Poststratified.of(sample, strata_of(margins, survey.schema), estimators_of), 0.95
    )


def found(relation: Relation) -> Iterator[tuple[float, float, float]]:
    """Value and interval of every measurement of SQL."""
    for form in relation.forms[:6]:
        yield form.value[0], form.interval.low[0], form.interval.high[0]


def simulated(kind: str, runs: int) -> np.ndarray:
    """Values and intervals of many surveys, shape (runs, measurements, 3)."""
    world = World.of(kind)
    margins = world.margins(kind)
    answers = [
        list(found(weighted(survey(), world.estimator(survey(), seed), margins)))
        for seed in range(runs)
    ]
    return np.array(answers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["joint", "raked"])
def test_intervals_hold_the_population_as_often_as_they_say(kind: str) -> None:
    """Of what cuts through strata too, and without bias."""
    runs, truth = 2_000, World.of(kind).truth()
    answers = simulated(kind, runs)
    for number, value in enumerate(truth.values()):
        values, low, high = answers[:, number].T
        assert coverage_fits(int(np.sum((low <= value) & (value <= high))), runs)
        # Quotients have a bias of their own, far below their error.
        assert is_unbiased(values, value) or abs(values.mean() - value) < 0.1 * values.std()


@pytest.mark.slow
@pytest.mark.parametrize("kind", keep_fast(["joint", "raked"], ["raked"]))
def test_errors_contain_that_strata_are_estimated(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variance of a count is that of its estimates; one that takes the people of a stratum for
    known is not."""
    runs, world = 100, World.of(kind)
    margins, truth = world.margins(kind), world.truth()["young"]
    values, variances, naive = np.empty(runs), np.empty(runs), []
    for run in range(runs):
        estimator = world.estimator(survey("6"), run, answered=8_000)
        form = weighted(survey("6"), estimator, margins).forms[0]
        values[run], variances[run] = form.value[0], form.interval.stderr[0] ** 2
        if run < 10:
            with monkeypatch.context() as patch:
                patch.setattr(Poststratified, "_fit", lambda _, sums: 0.0 * sums)
                known = weighted(survey("6"), estimator, margins).forms[0]
                naive.append(known.interval.stderr[0] ** 2)
    assert variance_fits(values, variances.mean())
    assert not variance_fits(values, float(np.mean(naive)))
    assert is_unbiased(values, truth)


# -- textbook formulas ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampled:
    """People who told the truth, as a random sample: sums, and their covariance by the scatter."""

    codes: np.ndarray
    pay: np.ndarray

    def answer(self, queries: Sequence[LinearQuery]) -> Estimates:
        amounts = np.zeros((len(self.codes), len(queries)))
        for place, query in enumerate(queries):
            amount = np.ones(len(self.codes)) if query.measure is None else self.pay
            for share, box in query.terms:
                inside = [
                    np.any([(codes >= low) & (codes < high) for low, high in side], axis=0)
                    for codes, side in zip(self.codes.T, box.sides, strict=True)
                    if side is not None
                ]
                amounts[:, place] += share * amount * np.all(inside, axis=0) if inside else amount
        centred = amounts - amounts.mean(axis=0)
        return Estimates(amounts.sum(axis=0), centred.T @ centred)

    def answer_rows(self, rows: Sequence[Sequence[LinearQuery]]) -> list[Estimates]:
        return rows_of(self.answer, rows)


def sampled() -> tuple[Survey, Sampled]:
    """Made-up people who answer without noise."""
    random = np.random.default_rng(5)
    codes = np.stack([random.integers(0, AGES, 400), random.integers(0, 2, 400)], axis=1)
    pay = np.round(random.uniform(0, 10, 400) + 0.3 * codes[:, 0], 2).clip(0, 10)
    raw = pa.table({"age": codes[:, 0], "sex": np.array(["F", "M"])[codes[:, 1]], "pay": pay})
    return exact_survey("app", survey().schema, raw, ExactBoxes), Sampled(codes, pay)


def sums_of(relation: Relation, label: str) -> tuple[float, float]:
    """The estimate of a sum, and its variance."""
    place = [target.label for target in relation.plan.targets].index(label)
    sums = relation.sums
    return float(sums.values[0, place]), float(sums.covariance[0, place, place])


def test_poststratified_totals_are_those_of_the_textbook() -> None:
    """Estimate sum_h N_h mean_h, variance sum_h (N_h / n_h)^2 sum_i (y_i - mean_h)^2: R's
    `postStratify` of a sample drawn with replacement, but for its factor n / (n - 1)."""
    exact, people = sampled()
    relation = weighted(exact, people, World.of("joint").margins("joint"))
    band = np.digitize(people.codes[:, 0], (4, 7)) * 2 + people.codes[:, 1]
    population = np.add.reduceat(World.of("joint").people, (0, 4, 7)).ravel()
    young = (people.codes[:, 0] < 3).astype(float)
    for label, amount in (("COUNT(*) under filter 1", young), ("SUM(pay)", people.pay)):
        value = variance = 0.0
        for stratum, count in enumerate(population):
            own = amount[band == stratum]
            value += count * own.mean()
            variance += (count / len(own)) ** 2 * ((own - own.mean()) ** 2).sum()
        assert sums_of(relation, label) == pytest.approx((value, variance), rel=1e-9)


def test_raked_totals_are_those_of_the_textbook() -> None:
    """Weights of single people by iterative proportional fitting, residuals of the regression with
    these weights: R's `rake`, and the variance of `calibrate`."""
    exact, people = sampled()
    relation = weighted(exact, people, World.of("raked").margins("raked"))
    band, sex = np.digitize(people.codes[:, 0], (4, 7)), people.codes[:, 1]
    population = np.add.reduceat(World.of("raked").people, (0, 4, 7))
    weights = np.ones(len(band))
    for _ in range(200):
        for own, margin in ((band, population.sum(axis=1)), (sex, population.sum(axis=0))):
            weights *= (margin / np.bincount(own, weights))[own]
    dummies = np.hstack([np.eye(3)[band], np.eye(2)[sex][:, 1:]])
    root = np.sqrt(weights)
    young = (people.codes[:, 0] < 3).astype(float)
    for label, amount in (("COUNT(*) under filter 1", young), ("SUM(pay)", people.pay)):
        slopes = np.linalg.lstsq(dummies * root[:, None], amount * root, rcond=None)[0]
        residuals = weights * (amount - dummies @ slopes)
        wanted = (weights @ amount, (residuals**2).sum())
        assert sums_of(relation, label) == pytest.approx(wanted, rel=1e-6)


# -- without noise, as DuckDB answers from the raw table -----------------------------------------

SCHEMA = Schema(
    (
        Dimension("age", int_domain(1, 11)),
        Dimension("state", Listed("category", ("CA", "NY", "TX")), missing="code"),
        Dimension("active", BOOL),
    ),
    (Measure("tip", (0.0, 20.0), has_null=True), Measure("pay", (-10.0, 90.0))),
    (PublicColumn("version", "int"), PublicColumn("shop", "text"), PublicColumn("price", "float")),
)
QUERIES = (
    ("COUNT(*)", "SUM(w)"),
    ("SUM(pay)", "SUM(w * pay)"),
    ("AVG(pay)", "SUM(w * pay) / SUM(w)"),
    ("AVG(age) FILTER (WHERE active)", "SUM(w * age) FILTER (active) / SUM(w) FILTER (active)"),
    ("SUM(price)", "SUM(w * price)"),
    ("COUNT(state)", "COALESCE(SUM(w) FILTER (state IS NOT NULL), 0)"),
    ("COUNT(tip)", "COALESCE(SUM(w) FILTER (tip IS NOT NULL), 0)"),
    ("AVG(tip)", "SUM(w * tip) / SUM(w) FILTER (tip IS NOT NULL)"),
    ("SUM(tip - pay)", "COALESCE(SUM(w * (tip - pay)), 0)"),
)
CLAUSES = (
    "",
    "WHERE age < 6",
    "WHERE version = 1 OR state = 'NY' AND price > 5",
    "WHERE shop = 'north' AND active",
)


def raw_table() -> pa.Table:
    """Made-up people, NULLs among them."""
    random = np.random.default_rng(4)
    return pa.table(
        {
            "age": random.integers(1, 12, 400),
            "state": pa.array(["CA", "NY", "TX", None]).take(pa.array(random.integers(0, 4, 400))),
            "active": random.random(400) < 0.4,
            "pay": np.round(random.uniform(-10, 90, 400) * 4) / 4,
            "tip": pa.array(random.integers(0, 21, 400), mask=np.arange(400) % 5 < 2),
            "version": pa.array([1, 2, None]).take(pa.array(random.integers(0, 3, 400))),
            "shop": pa.array(["north", "south"]).take(pa.array(random.integers(0, 2, 400))),
            "price": np.round(random.uniform(0, 20, 400) * 8) / 8,
        }
    )


@pytest.fixture(scope="module", params=[ExactNodes, ExactBoxes])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Session, duckdb.DuckDBPyConnection]]:
    """People answered without noise, post-stratified by age and a public column, and in DuckDB,
    each with the weight of the stratum."""
    people, raw = raw_table(), duckdb.connect()
    exact = exact_survey("app", SCHEMA, people, request.param)
    raw.register("people", people)
    raw.execute("""
        CREATE TABLE banded AS SELECT *, COALESCE(version::TEXT, '') AS own,
        CASE WHEN age < 5 THEN '1..4' WHEN age < 9 THEN '5..8' ELSE '9+' END AS band FROM people
    """)
    margin = raw.sql(
        "SELECT band AS age, own AS version, "
        "10 * (1 + ascii(band) % 7 + length(own)) AS n FROM banded GROUP BY band, own"
    ).to_arrow_table()
    raw.register("margin", margin)
    raw.execute("""
        CREATE TABLE app AS SELECT b.*, m.n / COUNT(*) OVER (PARTITION BY band, own) AS w
        FROM banded b JOIN margin m ON m.age = band AND m.version = own
    """)
    with pytest.MonkeyPatch.context() as patch, open_store(None, read_only=False) as store:
        patch.setitem(registry.MECHANISMS, "exact", ExactMechanism(exact.design))
        reports, _ = randomize_batch(exact, people, SeededEntropy(0), policy=ANYTHING)
        store.ingest_table(reports, exact)
        yield Session(store, sources=Population(margin)), raw


@pytest.mark.fast(2)
@pytest.mark.parametrize("keys", ["", "age", "version", "shop", "state, version", "active"])
def test_without_noise_answers_are_those_of_weighted_people(both: Any, keys: str) -> None:
    session, raw = both
    chosen, group = (f"{keys}, ", f"GROUP BY {keys}") if keys else ("", "")
    for where in CLAUSES:
        for ours, theirs in QUERIES:
            found = session.execute(f"SELECT {chosen}{ours} AS x FROM app {where} {group}").table
            rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
            answers = {row[:-1]: row[-1] for row in rows}
            for *key, value in raw.execute(
                f"SELECT {chosen}{theirs} FROM app {where} {group}"
            ).fetchall():
                own = answers.pop(tuple(key))
                assert own == (value and pytest.approx(value, rel=1e-9, abs=1e-9))
            # Declared values that nobody has.
            assert not any(answers.values())


def test_what_margins_say_is_exact() -> None:
    margins = read_margins(pa.table({"age": ["0..4", "5+"], "people": [600, 400]}))
    relation = weighted(survey(), World.of("joint").estimator(survey(), 1), margins)
    assert sums_of(relation, "COUNT(*)") == (1000.0, 0.0)


@dataclass(frozen=True)
class AskedTogether:
    """Its covariances depend on what is asked together, as those from samples of reports do."""

    inner: AnyEstimator

    def answer(self, queries: Sequence[Any]) -> Estimates:
        found = self.inner.answer(queries)
        return Estimates(found.values, found.covariance * len(queries))

    def answer_rows(self, rows: Sequence[Sequence[Any]]) -> list[Estimates]:
        return rows_of(self.answer, rows)


def test_what_margins_say_is_exact_whatever_is_asked_beside_it() -> None:
    margins = read_margins(pa.table({"age": ["0..4", "5+"], "people": [600, 400]}))
    estimator: Any = AskedTogether(World.of("joint").estimator(survey(), 1))
    relation = weighted(survey(), estimator, margins)
    assert sums_of(relation, "COUNT(*)") == (1000.0, 0.0)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM app WHERE shop = 'north'",
        "SELECT COUNT_IF(shop = 'north') FROM app",
        "SELECT n FROM (SELECT shop, COUNT(*) AS n FROM app GROUP BY shop) WHERE shop = 'north'",
        "SELECT SUM(COUNT(*)) OVER () - COUNT(*) FROM app GROUP BY shop QUALIFY shop = 'south'",
    ],
)
def test_who_has_which_public_value_is_chance_in_a_sample(both: Any, sql: str) -> None:
    """Of those who answered it is known how many are where; of a population it is estimated, with
    the textbook's error: nothing here is randomized."""
    session, _ = both
    margin, people = {1: 100.0, 2: 60.0, None: 40.0}, raw_table().to_pydict()
    names = ["" if version is None else str(version) for version in margin]
    weights = read_margins(pa.table({"version": names, "n": [*margin.values()]}))
    result = Session(session.store, sources=Population(weights)).execute(sql)
    value = variance = 0.0
    for version, count in margin.items():
        pairs = zip(people["version"], people["shop"], strict=True)
        own = np.array([shop == "north" for stratum, shop in pairs if stratum == version], float)
        value += count * own.mean()
        variance += (count / len(own)) ** 2 * ((own - own.mean()) ** 2).sum()
    assert result.table.column(0).to_pylist() == pytest.approx([value])
    assert result.intervals[0].stderr == pytest.approx([variance**0.5])


# -- refused -------------------------------------------------------------------------------------


def test_strata_where_too_few_answered_are_refused() -> None:
    world = World.of("joint")
    estimator = world.estimator(survey(), 1, answered=1_000)
    with pytest.raises(DataError, match=r"too few people of app answered in age 0\.\.3, sex F \("):
        _ = weighted(survey(), estimator, world.margins("joint")).sums


def test_public_values_without_a_row_are_refused(both: Any) -> None:
    session, _ = both
    table = pa.table({"version": ["1", "2"], "n": [1, 2]})
    with pytest.raises(DataError, match="answered with version None, which the margins do not"):
        Session(session.store, sources=Population(table)).execute("SELECT COUNT(*) FROM app")


def test_strata_of_public_columns_need_reports(both: Any) -> None:
    session, _ = both
    table = pa.table({"version": ["1", "2", "3", ""], "n": [1, 2, 3, 4]})
    with pytest.raises(DataError, match=r"too few people of app answered in version 3 \(0\)"):
        Session(session.store, sources=Population(table)).execute("SELECT COUNT(*) FROM app")


def test_nobody_has_weight_where_margins_have_nobody(both: Any) -> None:
    session, _ = both
    table = pa.table({"version": ["1", "2", ""], "n": [70, 30, 0]})
    found = Session(session.store, sources=Population(table)).execute(
        "SELECT version, COUNT(*) AS n FROM app GROUP BY version"
    )
    assert found.table["n"].to_pylist() == [70, 30, 0]
    assert found.notes[0] == "answers about 100 people, post-stratified by version (margins 1)"
