"""Intervals about those who answered: they cover, and those of a sample cover too often."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from support.fourier_designs import domain_of
from support.repeated_surveys import Repeated
from support.significance import coverage_fits
from support.surveys import category, integer, measure, public, survey_toml
from support.tiers import keep_fast, runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import Estimates
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.estimators.base import AnyDesign, AnyEstimator, Estimator, make_estimator
from ldpsql.mechanisms.fourier.contributions import SecondMoments
from ldpsql.mechanisms.fourier.estimator import FourierEstimator
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.population.census import CensusEstimator, products, subtract
from ldpsql.population.sources import Population
from ldpsql.reports.report import Histogram
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import InterfaceError, SurveyError
from ldpsql_lab.simulation import SeededEntropy, histogram_of, simulate

Numbers = NDArray[Any]

PEOPLE, SURVEYS = 2_000, runs(400)
EDGES = (0, 1, 3, 8)
MECHANISMS_TRIED = ("fourier", "grr", "hio")


def count(low: int, end: int) -> LinearQuery:
    return LinearQuery.count(Box((((low, end),),)))


def plan_ranges(made: AnyDesign) -> dict[Any, LinearQuery]:
    """The ranges between EDGES by what a design makes of each."""
    return {made.prepare(own := count(low, end)): own for low, end in pairwise(EDGES)}


def simulated(name: str, *, is_census: bool) -> tuple[Repeated, Numbers]:
    """Of ranges over eight codes at epsilon 4, and the counts of those who answered, who are the
    same people in every survey; with or without a census."""
    made: AnyDesign = MECHANISMS[name].design(domain_of((8,)), Epsilon.parse("4"), {})
    codes = np.random.default_rng(1).choice(8, PEOPLE, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
    truth = np.array([((codes >= low) & (codes < end)).sum() for low, end in pairwise(EDGES)])
    row = plan_ranges(made)

    def make(histogram: Histogram) -> AnyEstimator:
        sample = make_estimator(made, histogram)
        return CensusEstimator(sample, made, PEOPLE, row) if is_census else sample

    return Repeated.of(made, list(row), lambda _: codes[:, None], SURVEYS, make), truth


@pytest.mark.parametrize("name", keep_fast(MECHANISMS_TRIED, ("grr",)))
def test_intervals_of_a_census_cover_those_who_answered(name: str) -> None:
    """Those of a sample are far too wide for that at a large epsilon."""
    found, truth = simulated(name, is_census=True)
    assert found.covers(truth), found.shares_inside(truth)
    if name != "hio":  # whose groups are small samples themselves
        sample, _ = simulated(name, is_census=False)
        assert sample.shares_inside(truth).min() > 0.98


@pytest.mark.parametrize("name", keep_fast(("fourier", "grr", "staircase"), ("grr",)))
def test_intervals_of_a_census_hold_what_levels_are_drawn(name: str) -> None:
    """Of measures that may be missing, whose levels differ from report to report of a person."""
    random, surveys = np.random.default_rng(5), runs(400)
    pay = np.clip(random.normal(50, 15, 1_000), 0, 100)
    missing = random.random(1_000) < 0.3
    columns = {"pay": pa.array(np.tile(pay, surveys), mask=np.tile(missing, surveys))}
    table = pa.table({**columns, "run": np.repeat(np.arange(surveys), 1_000)})
    text = survey_toml(
        measure("pay", 0, 100, required=False),
        public("run", "int"),
        epsilon="4",
        mechanism=name,
        population="census",
    )
    with simulate(design(text), table) as connection:
        sql = "SELECT run, AVG(pay), SUM(pay), COUNT(pay) FROM app GROUP BY run"
        found = connection.execute(sql).result
    own = pay[~missing]
    for place, truth in enumerate((own.mean(), own.sum(), own.size), 1):
        bars = found.intervals[place]
        inside = (bars.low <= truth) & (truth <= bars.high)
        assert coverage_fits(int(inside.sum()), surveys), (place, inside.mean())


def test_products_of_queries_count_who_is_in_both() -> None:
    first, second = count(0, 4), LinearQuery(((2.0, Box((((2, 6),),))),), 0)
    own = products([first, second], domain_of((8,)))
    assert own is not None
    assert own[:2] == [first, LinearQuery(second.terms)]
    inside = Box((((2, 4),),))
    assert own[2] == first
    assert own[3] == LinearQuery(((2.0, inside),))
    assert own[4] == LinearQuery(((4.0, Box((((2, 6),),))),))
    assert own[5:] == [LinearQuery(((2.0, inside),), 0), LinearQuery(own[4].terms, 0)]
    assert products([first] * 13, domain_of((8,))) is None


def count_covariances(monkeypatch: pytest.MonkeyPatch) -> int:
    """Of how many queries a census asks for the covariance, to answer a row of three."""
    made: AnyDesign = MECHANISMS["fourier"].design(domain_of((8,)), Epsilon.parse("4"), {})
    codes = np.random.default_rng(1).integers(0, 8, (100, 1))
    row, histogram = plan_ranges(made), histogram_of(made.randomize(codes, SeededEntropy(1)))
    estimator = CensusEstimator(make_estimator(made, histogram), made, len(codes), row)
    asked, sums = [], SecondMoments.sums

    def noted(self: SecondMoments, rows: Any, *others: Any) -> Any:
        asked.extend(map(len, rows))
        return sums(self, rows, *others)

    monkeypatch.setattr(SecondMoments, "sums", noted)
    estimator.answer(list(row))
    return sum(asked)


def test_a_census_asks_for_no_covariance_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_covariances(monkeypatch) == 3
    monkeypatch.setattr(FourierEstimator, "values", Estimator.values)
    assert count_covariances(monkeypatch) > 3


def test_no_more_is_subtracted_than_there_is() -> None:
    random = np.random.default_rng(2)
    root = random.standard_normal((4, 4))
    whole = root @ root.T
    half = subtract(whole, 0.5 * whole)
    np.testing.assert_allclose(half, 0.5 * whole, atol=1e-9)
    rest = subtract(whole, np.diag([100.0, -3.0, 0.0, 0.0]))
    values = np.linalg.eigvalsh(rest)
    assert values.min() > -1e-9
    assert (np.linalg.eigvalsh(whole - rest) > -1e-9).all()
    unknown = np.diag([np.inf, 1.0])
    np.testing.assert_array_equal(subtract(unknown, np.diag([1.0, 0.25])), np.diag([np.inf, 0.75]))


def amounts(query: LinearQuery, codes: Numbers, pay: Numbers) -> Numbers:
    """What every person adds to a query over one dimension and one measure."""
    counted = np.zeros(len(codes))
    for factor, box in query.terms:
        side = box.sides[0]
        intervals = ((0, 8),) if side is None else side
        counted += factor * sum((codes >= low) & (codes < end) for low, end in intervals)
    return counted if query.measure is None else counted * pay


@dataclass(frozen=True)
class Exact(Estimator[LinearQuery]):
    """Answers without noise about some people, with a given covariance of the noise and that of
    the sample."""

    codes: Numbers
    pay: Numbers
    noise: Numbers

    def answer_rows(self, rows: list[list[LinearQuery]]) -> list[Estimates]:
        found = []
        for row in rows:
            each = np.array([amounts(query, self.codes, self.pay) for query in row])
            sample = np.atleast_2d(np.cov(each, ddof=0)) * len(self.codes)
            noise = self.noise[: len(row), : len(row)]
            found.append(Estimates(each.sum(axis=1), sample + noise))
        return found

    def influence(self, queries: list[LinearQuery], slopes: Numbers) -> Numbers:
        raise NotImplementedError


class Plain:
    """A design that takes linear queries as they are."""

    domain = domain_of((8,), ((0.0, 1.0),))

    def prepare(self, query: LinearQuery) -> LinearQuery:
        return query


def combine(*terms: tuple[float, int, int], pay: bool) -> LinearQuery:
    """A count, or a sum of the measure, of ranges by coefficients."""
    boxes = tuple((factor, Box((((low, end),),))) for factor, low, end in terms)
    return LinearQuery(boxes, 0 if pay else None)


ROWS = {
    "signed sum": (combine((1.0, 0, 4), (-1.0, 4, 8), pay=True),),
    "average": (combine((1.0, 0, 3), pay=True), combine((1.0, 0, 3), pay=False)),
    "part and whole": (combine((1.0, 0, 4), pay=True), combine((1.0, 0, 5), pay=True)),
    "overlapping": (
        combine((1.0, 0, 4), pay=True),
        combine((1.0, 2, 6), pay=False),
        combine((2.0, 1, 7), pay=True),
    ),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("seed", range(4))
def test_noise_stays_whatever_is_summed(name: str, seed: int) -> None:
    """Of no combination of a row is more left out than the sample adds; of every sum some is."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 8, 5_000)
    pay = random.uniform(-5, 20, 8)[codes] + random.uniform(-1, 1, 5_000)
    root = random.standard_normal((4, 4)) * 100.0
    exact = Exact(codes, pay, root @ root.T)
    row: list[Any] = list(ROWS[name])
    noise = exact.noise[: len(row), : len(row)]
    (whole,) = exact.answer_rows([list(ROWS[name])])
    (found,) = CensusEstimator(
        exact,
        Plain(),
        len(codes),
        {query: query for query in row},  # type: ignore[arg-type]
    ).answer_rows([row])
    scale = np.outer(whole.stderr, whole.stderr)
    assert np.linalg.eigvalsh((found.covariance - noise) / scale).min() > -1e-9
    assert np.linalg.eigvalsh((whole.covariance - found.covariance) / scale).min() > -1e-9
    assert (found.stderr < whole.stderr).all()


def test_a_session_asks_for_a_census() -> None:
    survey = design(
        survey_toml(
            integer("age", 0, 7),
            category("state", "CA", "NY"),
            measure("pay", 0, 10),
            epsilon="4",
            mechanism="fourier",
        )
    )
    random = np.random.default_rng(3)
    people = pa.table(
        {
            "age": random.integers(0, 8, 3_000),
            "state": np.array(["CA", "NY"])[random.integers(0, 2, 3_000)],
            "pay": random.uniform(0, 10, 3_000),
        }
    )
    sql = (
        "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a, COUNT(*) * 2 - SUM(pay) AS x FROM app"
    )
    with simulate(survey, people, seed=3) as connection:
        plain = connection.execute(f"{sql} WHERE age < 5").result
        found = Session(connection.session.store, sources=Population(census=True)).execute(
            f"{sql} WHERE age < 5"
        )
        assert found.table == plain.table
        for place in (0, 1, 3):
            assert found.intervals[place].stderr[0] < 0.98 * plain.intervals[place].stderr[0]
        assert found.intervals[2].stderr[0] <= 1.001 * plain.intervals[2].stderr[0]
        assert any("a census, no sample" in note for note in found.notes)
        assert found.surveys[0].fingerprint == survey.fingerprint
        with pytest.raises(InterfaceError, match="a census is about those who answered"):
            Population(census=True, one_population=True)


def test_a_survey_says_that_it_is_a_census() -> None:
    """Then every question is about those who answered, but where a larger population is meant."""
    columns = integer("age", 0, 7)
    sample, census = (
        design(survey_toml(columns, epsilon="4", mechanism="grr", **more))
        for more in ({}, {"population": "census"})
    )
    assert Survey.from_json(census.to_json()) == census
    assert "population" not in sample.collector_text
    people = pa.table({"age": np.arange(2_000) % 8})
    sql = "SELECT COUNT(*) AS n FROM app WHERE age < 5"
    errors = {}
    for survey in (sample, census):
        with simulate(survey, people, seed=3) as connection:
            found = connection.execute(sql).result
            is_noted = any("a census, no sample" in note for note in found.notes)
            assert is_noted is (survey is census)
            errors[survey is census] = found.intervals[0].stderr[0]
            wider = Session(
                connection.session.store, sources=Population(one_population=True)
            ).execute(sql)
            assert not any("a census, no sample" in note for note in wider.notes)
            assert wider.intervals[0].stderr[0] == pytest.approx(errors[False])
    assert errors[True] < 0.9 * errors[False]


def test_a_population_is_a_census_or_left_out() -> None:
    text = survey_toml(integer("age", 0, 7), mechanism="grr", population="everybody")
    with pytest.raises(SurveyError, match="population must be 'census', or be left out"):
        design(text)


def ask_of_census(asked: str, people: int, columns: tuple[str, ...], **more: Any) -> Any:
    """An answer about those who answered, and the usual one."""
    survey = design(survey_toml(*columns, epsilon="4", **more))
    random = np.random.default_rng(5)
    table = pa.table(
        {
            "age": random.integers(0, 8, people),
            "state": np.array(["CA", "NY"])[random.integers(0, 2, people)],
            "pay": random.uniform(0, 10, people),
        }
    )
    with simulate(survey, table, seed=5) as connection:
        usual = connection.execute(asked).result
        return Session(connection.session.store, sources=Population(census=True)).execute(
            asked
        ), usual


TWO = (
    "SELECT COUNT(*) FILTER (WHERE age < 3) AS young, COUNT(*) FILTER (WHERE state = 'CA') AS ca "
    "FROM app"
)


@pytest.mark.parametrize(
    "declared",
    [
        {"mechanism": "srr-ss", "options": {"ways": 1}},
        {"mechanism": "fourier", "workload": {"max_predicates": 1}},
    ],
    ids=["srr-ss", "fourier"],
)
def test_a_census_asks_for_nothing_that_is_not_collected(declared: dict[str, Any]) -> None:
    """Who is young and in CA is unknown; each alone is known, and has no part of the sample."""
    columns = (integer("age", 0, 7), category("state", "CA", "NY"))
    found, usual = ask_of_census(TWO, 2_000, columns, **declared)
    assert found.table == usual.table
    np.testing.assert_array_equal(found.intervals[0].stderr, usual.intervals[0].stderr)
    alone, usual = ask_of_census(
        "SELECT COUNT(*) AS n FROM app WHERE age < 3", 2_000, columns, **declared
    )
    assert alone.intervals[0].stderr[0] < 0.99 * usual.intervals[0].stderr[0]


@pytest.mark.parametrize("people", [1, 2])
def test_a_census_of_too_few_reports_leaves_errors_as_they_are(people: int) -> None:
    """Of most groups of trees there is nobody, so that most sums are unknown."""
    columns = (integer("age", 0, 7), category("state", "CA", "NY"), measure("pay", 0, 10))
    asked = "SELECT AVG(pay) AS a, AVG(pay) FILTER (WHERE age = 3) AS b, COUNT(*) AS n FROM app"
    found, usual = ask_of_census(asked, people, columns, mechanism="ehio")
    assert found.table == usual.table
