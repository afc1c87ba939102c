"""Measures of several levels: which are chosen, what they promise, and what they answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from support.significance import coverage_fits, is_unbiased
from support.surveys import category, integer, measure, survey_toml
from support.tiers import keep_fast
from support.vectors import changes_of

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.least_error import amounts_of
from ldpsql.algebra.record_domain import RecordDomain, share_levels
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.audit.exact import worst_odds
from ldpsql.designer import design_survey
from ldpsql.designer.file import read_workload
from ldpsql.designer.forecast import sample_queries
from ldpsql.errors import UnsupportedSQL
from ldpsql.mechanisms.registry import MECHANISMS, mechanism
from ldpsql.mechanisms.staircase.recipe import FAST_CELLS, LEVELS
from ldpsql.reports.channel import Law, enumerate_law
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import Dimension, Measure, Schema
from ldpsql_device.values import Listed
from ldpsql_lab.simulation import simulate

ALONE = RecordDomain((), (), ("pay",), ((-10.0, 90.0),), (None,))
BY_SEX = RecordDomain(("sex",), (2,), ("pay",), ((-10.0, 90.0),), (None,))
TOTAL = Workload(ALONE, (QueryClass(1.0, (), 0),))
GROUPED = Workload(
    BY_SEX, (QueryClass(0.25, ((0, "equality"),)), QueryClass(0.75, ((0, "equality"),), 0))
)
ASKED = {"alone": TOTAL, "by sex": GROUPED}
AVERAGES = (
    "SELECT sex, COUNT(*), SUM(hours), AVG(hours) FROM people GROUP BY sex",
    "SELECT AVG(hours) FROM people",
)
DEVIATIONS = ("SELECT sex, COUNT(*), AVG(hours), STDDEV_POP(hours) FROM people GROUP BY sex",)


@cache
def designed(workload: Workload, epsilon: str, levels: int = 0):
    """The best design, or the one of so many levels."""
    options = {"levels": levels} if levels else {}
    return mechanism("staircase").design(workload.domain, Epsilon.parse(epsilon), options, workload)


def survey_text(
    epsilon: str,
    asked: Sequence[str] = AVERAGES,
    mechanism: str | None = "staircase",
    columns: Sequence[str] = (),
) -> str:
    """Of hours of work by sex, and by more columns."""
    own = *columns, category("sex", "f", "m"), measure("hours", 0, 80)
    named = {"table": "people", "epsilon": epsilon, "mechanism": mechanism}
    return survey_toml(*own, workload={"queries": asked}, **named)


@cache
def averages() -> Survey:
    """A survey whose measure has the levels that are best for its average."""
    return design_survey(survey_text("2")).survey


def piecewise_variance(value: np.ndarray, epsilon: float) -> np.ndarray:
    """Of the Piecewise Mechanism for numbers between -1 and 1 (Wang et al., ICDE 2019)."""
    half = math.exp(epsilon / 2.0)
    return value**2 / (half - 1.0) + (half + 3.0) / (3.0 * (half - 1.0) ** 2)


def variance_at(design, values: np.ndarray) -> np.ndarray:
    """Of one person's contribution to the sum, in half-widths, by what they hold; exactly.

    Between two levels the second moment is a mixture of theirs.
    """
    centred = np.linspace(-1.0, 1.0, design.domain.levels[0])
    channel = design.channel
    amounts = channel.contributions @ centred
    assert channel.matrix.T @ amounts == pytest.approx(centred, abs=1e-9)
    return np.interp(values, centred, channel.matrix.T @ amounts**2) - values**2


# Look-alikes of hours of work, of incomes and of delays, between -1 and 1.
random = np.random.default_rng(11)
TABLES = {
    "hours": np.where(random.random(20_000) < 0.47, 0.0, random.normal(0, 0.4, 20_000)).clip(-1, 1),
    "income": np.clip(np.exp(random.normal(10.5, 0.95, 20_000)) / 1e5 - 1.0, -1, 1),
    "delays": np.clip((random.gamma(1.2, 25.0, 20_000) + 35.0) / 120.0 - 1.0, -1, 1),
    "spread": random.uniform(-1, 1, 20_000),
}


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_an_average_alone_is_no_worse_than_by_the_piecewise_mechanism(name, epsilon):
    design = designed(TOTAL, epsilon)
    values = TABLES[name]
    own = variance_at(design, values).mean()
    assert own <= piecewise_variance(values, float(epsilon)).mean()
    if epsilon in ("2", "4"):
        two = designed(TOTAL, epsilon, 2)
        assert variance_at(two, values).mean() > own  # the negative control


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_whatever_people_hold_it_is_hardly_worse_than_the_piecewise_mechanism(epsilon):
    """At any single number that everybody might hold, the standard error too."""
    design = designed(TOTAL, epsilon)
    values = np.linspace(-1.0, 1.0, 2001)
    ratios = variance_at(design, values) / piecewise_variance(values, float(epsilon))
    assert np.sqrt(ratios.max()) < 1.05
    assert ratios.mean() < 0.97


@pytest.mark.parametrize(
    ("name", "epsilon"),
    keep_fast(
        product(ASKED, ["0.2", "0.5", "1", "2", "4", "6"]),
        [
            ("alone", "0.5"),
            ("alone", "4"),
            ("by sex", "4"),
        ],
    ),
)
def test_chosen_levels_are_never_worse_than_two(name, epsilon):
    chosen, two = designed(ASKED[name], epsilon), designed(ASKED[name], epsilon, 2)
    assert chosen.mean_variance <= two.mean_variance
    assert set(chosen.domain.levels) <= set(LEVELS)
    assert math.prod(chosen.domain.record_sizes) <= FAST_CELLS


@pytest.mark.slow
def test_auto_takes_it_for_squares_although_its_design_is_slow():
    """Nothing else tells squares."""
    asked = ["SELECT day, sex, STDDEV_POP(hours) FROM people GROUP BY day, sex"]
    text = survey_text("4", asked, None, [integer("day", 0, 11)])
    design = design_survey(text).survey.design
    assert design.name == "staircase"
    assert math.prod(design.domain.record_sizes) > FAST_CELLS
    assert MECHANISMS["staircase"].reserved(Workload.everyday(design.domain)) is not None


def test_levels_by_hand():
    recipe, one = mechanism("staircase"), Epsilon.parse("1")
    assert recipe.design(ALONE, one, {"levels": 4}, TOTAL).domain.levels == (4,)
    for wrong in (1, -3, 1025, 400):
        with pytest.raises(SurveyError, match=r"levels must lie|at most 256 combinations"):
            recipe.design(ALONE, one, {"levels": wrong}, TOTAL)


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("name", ASKED)
def test_the_plan_keeps_its_promise_exactly(name, epsilon):
    """By enumerating the law of every record in whole numbers."""
    design = designed(ASKED[name], epsilon)
    assert max(design.domain.levels) > 2 or epsilon == "0.5"
    law = enumerate_law(design.plan)
    worst = find_largest_ratio(law)
    assert worst == worst_odds(design)
    assert worst <= Epsilon.parse(epsilon).odds
    assert float(worst) > 0.99 * math.exp(float(epsilon))


def find_largest_ratio(law: Law) -> Fraction:
    """The largest ratio of probabilities of one report from two records."""
    return max(
        one / other
        for report in zip(*law.probabilities, strict=True)
        for one, other in itertools.permutations(report, 2)
    )


def test_every_other_mechanism_takes_two_levels():
    """They round measures to their bounds and say so."""
    domain = RecordDomain(
        ("x",), (4,), ("pay",), ((0.0, 1.0),), (None,), roundings=((3, "linear"),)
    )
    for name, recipe in MECHANISMS.items():
        if name != "staircase":
            with pytest.raises(SurveyError, match="takes no"):
                recipe.design(domain, Epsilon.parse("1"), {})


@pytest.mark.parametrize("how", [(5, "linear"), (2, "linear"), (6, "quadratic"), (3, "quadratic")])
def test_shares_and_values_of_levels_are_those_of_numbers_spread_evenly(how):
    """By rounding many numbers at even distances with words at even distances."""
    domain = RecordDomain((), (), ("pay",), ((-10.0, 90.0),), (None,), roundings=(how,))
    measure = Measure("pay", (-10.0, 90.0), levels=how[0], rounding=how[1])
    numbers = -10.0 + 100.0 * (np.arange(600) + 0.5) / 600
    words = [(2 * k + 1) << 57 for k in range(64)]
    levels = [[measure.level(measure.threshold(x)[0], w) for w in words] for x in numbers]
    counts = np.bincount(np.ravel(levels), minlength=how[0]) / np.size(levels)
    assert domain.level_shares(0) == pytest.approx(counts, abs=0.01)
    assert domain.level_values(0)[levels].mean(axis=1) == pytest.approx(numbers, abs=2.0)
    assert domain.level_shares(0) @ domain.level_values(0) == pytest.approx(40.0)


def test_a_survey_with_levels_is_published_and_asked():
    made = averages()
    assert made.schema.measures[0].levels > 2
    again = Survey.from_json(made.to_json())
    assert again == made
    assert again.schema == made.schema
    whole = Box((None,))
    planned = again.design.prepare(LinearQuery.sum(0, whole))
    assert again.design.variance([planned], 1000) > 0.0
    table = people(3, 50_000)
    hours = np.asarray(table["hours"])[np.asarray(table["sex"]) == "f"].mean()
    for estimator in made.design.estimators:
        with simulate(made, table, estimator=estimator) as connection:
            asked = connection.execute("SELECT AVG(hours) FROM people WHERE sex = 'f'")
            [(average,)] = asked.fetchall()
        assert average == pytest.approx(hours, abs=3.0)


def people(seed: int, count: int) -> pa.Table:
    own = np.random.default_rng(seed)
    sex = own.random(count) < 0.4
    hours = np.where(own.random(count) < 0.5, 40.0, own.normal(30.0 + 12.0 * sex, 11.0, count))
    return pa.table({"sex": np.where(sex, "f", "m"), "hours": np.clip(hours, 0.0, 80.0)})


# -- squares ---------------------------------------------------------------------------------------

SPREAD = survey_text("4", DEVIATIONS, None)


@pytest.mark.parametrize("value", [-10.0, -3.3, 20.0, 39.9, 77.0, 90.0])
def test_levels_that_tell_squares_are_unbiased_for_them(value):
    """In expectation over the words of a device, for whatever number."""
    how = (7, "quadratic")
    domain = RecordDomain((), (), ("pay",), ((-10.0, 90.0),), (None,), roundings=(how,))
    measure = Measure("pay", (-10.0, 90.0), levels=7, rounding="quadratic")
    threshold, _ = measure.threshold(value)
    cuts = [0, *changes_of(measure, threshold), 2**64]
    law = [(measure.level(threshold, a), (b - a) / 2**64) for a, b in itertools.pairwise(cuts)]
    squares = domain.level_squares(0)
    mean = sum(squares[level] * share for level, share in law)
    assert mean == pytest.approx((value - 40.0) ** 2, abs=1e-9)
    # The negative control: squares of what levels stand for, as they are.
    plain = sum((domain.level_values(0)[level] - 40.0) ** 2 * share for level, share in law)
    assert plain == pytest.approx(mean + 20.0**2 / 4.0)


def test_only_levels_for_squares_tell_them():
    for roundings in ((), ((5, "linear"),)):
        domain = replace(ALONE, roundings=roundings)
        with pytest.raises(SurveyError, match="say nothing about squares"):
            domain.level_squares(0)


def test_a_workload_with_variances_gets_levels_that_tell_squares():
    designed = design_survey(SPREAD)
    survey = designed.survey
    assert survey.schema.measures[0].rounding == "quadratic"
    assert Survey.from_json(survey.to_json()) == survey
    assert all(
        "say nothing about squares" in designed.ranking.left_out[name]
        for name in ("fourier", "hgrr")
    )


@pytest.mark.slow
def test_variances_of_measures_are_answered_where_the_workload_asks():
    survey = design_survey(SPREAD).survey
    large, runs, count = people(0, 2_000_000), 150, 3_000
    hours = np.asarray(large["hours"])[np.asarray(large["sex"]) == "m"]
    truth = [hours.var(), hours.std()]
    found = []
    for seed in range(runs):
        with simulate(survey, people(seed + 1, count), seed=seed) as connection:
            asked = "SELECT VAR_POP(hours), STDDEV_POP(hours) FROM people WHERE sex = 'm'"
            row = connection.execute(asked).arrow(intervals=True)
        found.append([column[0].as_py() for column in row.columns])
    values, _, low, high = np.moveaxis(np.array(found, dtype=float).reshape(runs, 2, 4), 2, 0)
    for number in range(2):
        inside = (low[:, number] <= truth[number]) & (truth[number] <= high[:, number])
        assert coverage_fits(int(inside.sum()), runs)
    # A quotient of unbiased sums: biased by less than a standard error of 150 surveys.
    assert is_unbiased(values[:, 0], truth[0])
    step = 80.0 / (survey.schema.measures[0].levels - 2)
    assert not is_unbiased(values[:, 0], truth[0] + step**2 / 4.0)  # the negative control


def test_variances_are_refused_where_levels_do_not_tell_them():
    survey = averages()
    with (
        simulate(survey, people(1, 100)) as connection,
        pytest.raises(UnsupportedSQL, match="not its squares") as caught,
    ):
        connection.execute("SELECT VAR_POP(hours) FROM people")
    assert "[workload]" in caught.value.hint


@pytest.mark.parametrize("name", ["fourier", "hgrr", "ahio"])
def test_mechanisms_that_round_to_bounds_refuse_workloads_with_squares(name):
    with pytest.raises(SurveyError, match="say nothing about squares; use staircase"):
        design_survey(SPREAD, mechanism=name)


def test_what_is_asked_of_two_levels_is_asked_of_more():
    """Of measures that may be missing: as if the SQL had been read for so many levels."""
    measures = (
        Measure("pay", (-10.0, 90.0), has_null=True),
        Measure("age", (1.0, 11.0), levels=3, rounding="quadratic", has_null=True),
        Measure("tip", (0.0, 1.0)),
    )
    schema = Schema((Dimension("sex", Listed("category", ("f", "m"))),), measures)
    more = replace(schema, measures=(replace(measures[0], levels=6), *measures[1:]))
    texts = (
        "SELECT sex, SUM(pay), COUNT(pay), AVG(tip) FROM t GROUP BY sex",
        "SELECT AVG(2 * pay), COUNT(*), SUM(age), VAR_POP(age) FROM t WHERE sex = 'f'",
    )
    table = {"queries": list(texts), "max_predicates": 1}
    coarse, fine = (read_workload(table, "t", each) for each in (schema, more))
    assert coarse.domain.with_levels(6) == fine.domain == RecordDomain.of(more)
    found = coarse.over(fine.domain)
    assert (found.domain, found.classes) == (fine.domain, fine.classes)
    sizes = fine.domain.sizes
    for own, expected in zip(found.queries, fine.queries, strict=True):
        assert amounts_of(own, sizes) == pytest.approx(amounts_of(expected, sizes), abs=1e-11)
        assert replace(own, terms=()) == replace(expected, terms=())
    for own, expected in zip(sample_queries(coarse, 99), sample_queries(fine, 99), strict=True):
        for one, other in zip(own.over(fine.domain).queries, expected.queries, strict=True):
            assert dict(map(reversed, one.terms)) == pytest.approx(
                dict(map(reversed, other.terms)), abs=1e-11
            )


def cost_of_missing(epsilon: str, levels: int = 0, tilt: float = 0.0) -> float:
    """RMSE of an average over everybody where nobody's number is missing, by the law of reports,
    over that of a measure that cannot be missing.

    tilt: people are spread between -1 and 1 with the density (1 + tilt x) / 2.
    """
    errors = []
    for lines, option in (("", levels), ("required = true\n", 0)):
        text = f'[survey]\ntable = "t"\nepsilon = "{epsilon}"\nmechanism = "staircase"\n'
        text += f"options = {{ levels = {option} }}\n"
        design = design_survey(f"{text}[measure.pay]\nbounds = [-1, 1]\n{lines}").survey.design
        channel = design.channel
        places = np.linspace(-1.0, 1.0, channel.cells - (not lines))
        people = share_levels(len(places), "linear") * (1.0 + tilt * places)
        people /= people.sum()
        # How far a number lies from the average; of a number that is missing it is nothing.
        counted = places - people @ places
        counted, people = (np.append(own, [0.0] * (not lines)) for own in (counted, people))
        reported = channel.contributions @ counted
        assert reported @ channel.matrix == pytest.approx(counted, abs=1e-9)  # unbiased
        errors.append(np.sqrt(reported**2 @ channel.matrix @ people))
    return float(errors[0] / errors[1])


@pytest.mark.fast(3)
@pytest.mark.parametrize("tilt", [0.0, -0.4])
@pytest.mark.parametrize(("epsilon", "most"), [("1", 1.15), ("2", 1.1), ("3", 1.1), ("4", 1.1)])
def test_that_a_number_may_be_missing_costs_little(epsilon, most, tilt):
    """The report of everybody who has one, whom nobody asks to tell whether it is there."""
    assert cost_of_missing(epsilon, tilt=tilt) < most
    # Two levels, as many as fewer people would do with, are what costs.
    assert cost_of_missing(epsilon, 2, tilt) > most or epsilon == "1"
