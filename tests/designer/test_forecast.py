"""Sampled queries, the errors expected of them, and what a wanted precision takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support.repeated_surveys import Repeated
from support.surveys import boolean, category, integer, measure, public, survey_toml
from support.tiers import runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import QueryClass, Workload, gram
from ldpsql.designer import design_survey, predict_errors
from ldpsql.designer.file import read_workload
from ldpsql.designer.forecast import (
    HOPELESS,
    MOST_CLASSES,
    MOST_PER_CLASS,
    Forecast,
    epsilons,
    least_epsilon,
    least_users,
    predicate_of,
    sample_queries,
)
from ldpsql.mechanisms.registry import mechanism
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Schema
from ldpsql_lab.simulation import simulate


def domain(*sizes: int) -> RecordDomain:
    return RecordDomain(
        tuple(f"x{i}" for i in range(len(sizes))), sizes, ("pay",), ((0.0, 4.0),), (None,)
    )


def single(*predicates, sizes) -> Workload:
    return Workload(domain(*sizes), (QueryClass(1.0, predicates),))


@pytest.mark.parametrize("size", [1, 2, 5, 9])
@pytest.mark.parametrize("kind", ["range", "prefix", "equality"])
def test_numbers_go_through_all_predicates(kind, size):
    count = size * (size + 1) // 2 if kind == "range" else size
    found = [predicate_of(kind, size, number) for number in range(count)]
    assert len(set(found)) == count
    matrix = np.zeros((size, size))
    for ((low, high),) in found:
        matrix[low:high, low:high] += 1 / count
    assert matrix == pytest.approx(gram(kind, size))
    if kind == "range":
        lengths = [high - low for ((low, high),) in found]
        assert lengths == sorted(lengths)


def test_a_small_class_is_sampled_by_all_its_queries():
    (sample,) = sample_queries(single((0, "range"), sizes=(8,)), 200)
    assert len(set(sample.queries)) == 36


@pytest.mark.parametrize("kind", ["range", "prefix", "equality"])
def test_a_large_class_is_sampled_evenly(kind):
    """The Gram of the samples is near that of the class, for one predicate and for two."""
    size = 64
    (sample,) = sample_queries(single((0, kind), (1, "range"), sizes=(size, 40)), 200)
    assert len(sample.queries) == MOST_PER_CLASS
    for axis, (own, length) in enumerate(((kind, size), ("range", 40))):
        cover = np.zeros(length)
        for query in sample.queries:
            for low, high in query.terms[0][1].sides[axis] or ((0, length),):
                cover[low:high] += 1 / len(sample.queries)
        assert np.abs(cover - gram(own, length).diagonal()).max() < 0.15
    mean = np.mean(
        [
            np.prod([_share(s, m) for s, m in zip(q.terms[0][1].sides, (size, 40), strict=True)])
            for q in sample.queries
        ]
    )
    expected = gram(kind, size).trace() / size * gram("range", 40).trace() / 40
    assert mean == pytest.approx(expected, rel=0.06)


def _share(side, size) -> float:
    return 1.0 if side is None else sum(high - low for low, high in side) / size


def test_words_units_and_targets():
    schema = Schema.from_keys(
        {
            "dimension": {
                "age": {"type": "int", "domain": [0, 3]},
                "state": {"type": "category", "values": ["CA", "NY"]},
            },
            "measure": {"pay": {"bounds": [2, 10]}},
        }
    )
    text = "SELECT AVG(pay), SUM(pay) FROM app WHERE age < 2"
    found = {
        p.text: p
        for p in sample_queries(
            read_workload({"queries": [text], "max_predicates": 2}, "app", schema), 100
        )
    }
    assert len(found) == 8
    middle = found["SUM(pay) by age range"]
    assert (middle.is_about_middle, middle.unit, middle.shown, middle.is_count) == (
        True,
        1,
        4,
        False,
    )
    assert found["age range"].is_count
    assert found["age range x state ="].group == "COUNT, 2 predicates"


def test_sums_of_declared_queries_are_in_units_of_the_largest_bound():
    schema = Schema.from_keys(
        {
            "dimension": {"age": {"type": "int", "domain": [0, 3]}},
            "measure": {"pay": {"bounds": [-10, 2]}},
        }
    )
    text = "SELECT SUM(pay) FROM app WHERE age < 2"
    (sample,) = sample_queries(read_workload({"queries": [text]}, "app", schema), 100)
    assert (sample.is_about_middle, sample.unit, sample.shown) == (False, pytest.approx(10), 1.0)


def test_of_many_classes_some_are_drawn_and_weights_stay():
    workload = Workload.everyday(domain(*[20] * 12))
    samples = sample_queries(workload, 72)
    assert len(workload.classes) == 2 * (12 + 66)
    assert len(samples) <= MOST_CLASSES
    assert samples == sample_queries(workload, 72)
    drawn, whole = Counter(), Counter()
    for sample in samples:
        drawn[sample.group] += sample.weight
    for entry in workload.classes:
        target = "COUNT" if entry.measure is None else "SUM(pay)"
        number = len(entry.predicates)
        whole[f"{target}, {number} predicate{'s' * (number > 1)}"] += entry.weight
    assert drawn == pytest.approx(whole)


# -- what a wanted precision takes ----------------------------------------------------------------

TOML = """
[survey]
table = "app"
epsilon = "1"
mechanism = "olh"
[dimension.x]
type = "int"
domain = [1, 20]
[measure.pay]
bounds = [0, 10]
required = true
"""


@pytest.fixture(scope="module")
def survey():
    return design_survey(TOML, users=10_000)


def at(survey):
    """The forecast at an epsilon, and the epsilons that were tried."""
    tried: list[Epsilon] = []

    def forecast(epsilon: Epsilon) -> Forecast:
        tried.append(epsilon)
        design = mechanism("olh").design(RecordDomain.of(survey.survey.schema), epsilon, {})
        return Forecast.of(design, survey.forecast.samples, survey.people)

    return forecast, tried


def test_the_epsilons_of_three_digits():
    found = list(map(str, epsilons()))
    assert [found[place] for place in (0, 1, 900, 2700, 3600, -1)] == [
        "0.001",
        "0.00101",
        "0.01",
        "1",
        "10",
        "20",
    ]
    assert len(found) == 3701
    assert {"0.0123", "1.23", "9.99"} < set(found)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02, 0.015])
def test_the_smallest_epsilon_suffices_and_the_next_smaller_does_not(survey, share):
    forecast, tried = at(survey)
    found, known = least_epsilon(share, forecast), epsilons()
    assert len(tried) <= 25
    assert forecast(found).half_width <= share
    assert forecast(known[known.index(found) - 1]).half_width > share


def test_what_no_epsilon_gives_is_none(survey):
    forecast, tried = at(survey)
    assert least_epsilon(1e-4, forecast) is None
    assert len(tried) <= 25


def test_an_easy_wish_takes_the_smallest_epsilon(survey):
    def easy(epsilon: Epsilon) -> Forecast:
        return survey.forecast

    assert str(least_epsilon(0.9, easy)) == "0.001"


def test_an_epsilon_without_a_design_is_not_enough(survey):
    def refusing(epsilon: Epsilon) -> Forecast:
        if epsilon.value < 2:
            raise SurveyError("too small")
        return survey.forecast

    assert str(least_epsilon(0.9, refusing)) == "2"


def test_a_hopeless_design_is_refused_as_soon_as_that_is_certain(survey):
    own, design = survey.forecast, survey.survey.design
    error = own.error
    assert Forecast.of(design, own.samples, own.people, 1.01 * error / HOPELESS) == own
    with pytest.raises(SurveyError, match="its intervals are at least 3 times as wide"):
        Forecast.of(design, own.samples, own.people, 0.99 * error / HOPELESS)
    # The first sample already makes it certain: the others are not looked at.
    broken = replace(own.samples[0], queries=(None,))
    with pytest.raises(AttributeError):
        Forecast.of(design, (own.samples[0], broken), own.people)
    with pytest.raises(SurveyError, match="times as wide"):
        Forecast.of(design, (own.samples[0], broken), own.people, 1e-6 * error)


@pytest.mark.parametrize("share", [0.5, 0.02, 0.001])
def test_the_fewest_people(survey, share):
    users = least_users(survey.forecast, share)
    design, samples = survey.survey.design, survey.forecast.samples
    assert Forecast.of(design, samples, users).half_width <= share * (1 + 1e-9)
    assert Forecast.of(design, samples, users - 1).half_width > share


def test_sums_do_not_count_towards_a_typical_count(survey):
    counts = [
        variance
        for probe, variance in zip(survey.forecast.samples, survey.forecast.variances, strict=True)
        if probe.is_count
    ]
    assert len(counts) == 1 < len(survey.forecast.samples)
    assert survey.forecast.half_width == pytest.approx(1.959964 * counts[0] ** 0.5 / 10_000)
    sums = design_survey(TOML + '[workload]\nqueries = ["SELECT SUM(pay) FROM app WHERE x < 5"]\n')
    assert 0 < sums.forecast.half_width < 1


FORECAST_PEOPLE, FORECAST_RUNS = 500, runs(150)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("hgrr", (8, 3)),
        ("fourier", (12, 3)),
        ("hio", (8, 3)),
        ("grr", (8, 3)),
        ("olh", (8, 3)),
        ("oue", (8,)),
        ("hrr", (8,)),
    ],
)
def test_forecasts_come_true(name: str, sizes: tuple[int, ...]) -> None:
    """Predicted against simulated mean squared errors, people drawn evenly from all cells."""
    names = tuple(f"x{i}" for i in range(len(sizes)))
    own = RecordDomain(names, sizes, (), (), ())
    workload = Workload.everyday(own)
    design = mechanism(name).design(own, Epsilon.parse("2"), {}, workload)
    samples = sample_queries(workload, 24)
    predicted = Forecast.of(design, samples, FORECAST_PEOPLE).error ** 2
    weights = np.concatenate([np.full(len(s.queries), s.weight / len(s.queries)) for s in samples])
    queries = [query for sample in samples for query in sample.queries]
    shares = []
    for query in queries:
        ((_, box),) = query.terms
        sides = zip(box.sides, sizes, strict=True)
        covered = (sum(high - low for low, high in side) / m for side, m in sides if side)
        shares.append(float(np.prod(list(covered))))
    random = np.random.default_rng(7)
    found = Repeated.of(
        design,
        [design.prepare(query) for query in queries],
        lambda _: random.integers(0, sizes, (FORECAST_PEOPLE, len(sizes))),
        FORECAST_RUNS,
    )
    squares = (found.values - FORECAST_PEOPLE * np.array(shares)) ** 2 @ weights
    mean = float(np.mean(squares))
    tolerance = 5.0 * float(np.std(squares)) / np.sqrt(FORECAST_RUNS)  # alpha 6e-7
    assert abs(mean - predicted) < tolerance
    # The negative control: another epsilon's forecast is not this one's.
    weaker = mechanism(name).design(own, Epsilon.parse("1"), {}, workload)
    assert abs(mean - Forecast.of(weaker, samples, FORECAST_PEOPLE).error ** 2) > tolerance


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "more",
    [
        {"mechanism": "fourier"},
        {"mechanism": "hgrr", "users": 7000},
        {"trust": "shuffle", "delta": "1e-9", "users": 100_000, "mechanism": "grr"},
        {"period": "month", "mechanism": "hgrr"},
        {"workload": {"max_predicates": 1, "weights": "absolute"}, "mechanism": "fourier"},
        {
            "workload": {
                "queries": [
                    "SELECT COUNT(*) FROM app WHERE age < 30",
                    "SELECT member, COUNT(*) FROM app GROUP BY member",
                ]
            }
        },
    ],
)
def test_a_published_survey_has_the_errors_that_were_forecast(more):
    columns = [integer("age", 18, 90), category("state", "CA", "NY", "WA"), boolean("member")]
    if "trust" not in more:
        columns += [measure("spent", 0, 500), public("version", "text")]
    designed = design_survey(survey_toml(*columns, **more))
    found = predict_errors(Survey.from_json(designed.survey.to_json()))
    assert found.people == designed.people
    for most in (1, 24):
        expected = designed.forecast.expect_errors(most)
        assert [entry.text for entry in found.expect_errors(most)] == [own.text for own in expected]
        shares = [entry.share for entry in found.expect_errors(most)]
        assert shares == pytest.approx([own.share for own in expected], rel=1e-9)


@pytest.mark.parametrize("name", ["grr", "fourier", "staircase"])
def test_what_is_expected_of_a_measure_that_may_be_missing_is_what_answers_say(name):
    """Of sums, averages and counts of halves of the people, a third of whom have no value."""
    random, people = np.random.default_rng(11), 60_000
    pay = pa.array(random.uniform(10, 30, people), mask=random.random(people) < 1 / 3)
    table = pa.table({"member": random.random(people) < 0.5, "pay": pay})
    columns = boolean("member"), measure("pay", 10, 30, required=False)
    queries = ["SELECT AVG(pay) FROM app WHERE member", "SELECT SUM(pay) FROM app WHERE member"]
    workload = {"queries": queries, "max_predicates": 1}
    text = survey_toml(*columns, mechanism=name, epsilon="2", workload=workload)
    designed = design_survey(text, users=people)
    forecast = designed.forecast
    found = {each.text: each for each in forecast.expect_errors(99)}
    with simulate(designed.survey, table) as connection:
        sql = "SELECT AVG(pay), SUM(pay), COUNT(pay), SUM(pay) - 20 * COUNT(pay) FROM app"
        intervals = connection.execute(f"{sql} GROUP BY member ORDER BY member").result.intervals
    average, total, count, about_middle = (intervals[place].stderr for place in range(4))
    for text, error in (("SUM", about_middle), ("COUNT", count)):
        mean = np.sqrt((error**2).mean())
        assert found[f"{text}(pay) by member ="].error == pytest.approx(mean, rel=0.05)
    mean = np.sqrt((average**2).mean())
    assert found["SUM(pay) by member ="].average == pytest.approx(mean, rel=0.05)
    assert found["query 1: SUM(pay)"].average == pytest.approx(average[1], rel=0.05)
    assert found["query 1: COUNT(pay)"].error == pytest.approx(count[1], rel=0.05)
    assert found["query 2: SUM(pay)"].error == pytest.approx(total[1], rel=0.05)
    assert found["query 2: SUM(pay)"].average is None


@pytest.mark.parametrize("name", ["grr", "fourier", "staircase"])
def test_what_a_forged_report_moves_in_sums_of_what_may_be_missing(name):
    columns = boolean("member"), measure("pay", 10, 30, required=False)
    forecast = design_survey(survey_toml(*columns, mechanism=name), users=1_000).forecast
    moved = dict(forecast.find_forged())
    design = forecast.design
    (*_, count, _) = design.domain.nullable[0]
    levels = enumerate(np.linspace(10, 30, count))
    members = [(value, Box((((1, 2),), ((level, level + 1),)))) for level, value in levels]
    total = design.prepare(LinearQuery(tuple(members)))
    assert moved["a sum of pay"] == pytest.approx(
        np.abs(design.influence([total], np.eye(1), 1_000)).max()
    )
    # Of a third of the people, by how much their sum moves less 20 for each that is counted more.
    middle = [(value - 20.0, box) for value, box in members if value != 20.0]
    change = design.influence([design.prepare(LinearQuery(tuple(middle)))], np.eye(1), 1_000)
    assert moved["an average of pay"] == pytest.approx(np.abs(change).max() * 3 / 1_000)
