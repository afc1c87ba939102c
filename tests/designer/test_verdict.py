"""Verdicts on questions, improvements and differences, held against simulations."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest
from support.surveys import boolean, category, integer, measure, survey_toml

from benchmarks.verdicts import SURVEYS, Outcome, realise
from ldpsql.cli.forecast import verdict
from ldpsql.designer import DesignedSurvey, design_survey
from ldpsql.designer.verdict import (
    LARGEST,
    SHARP,
    USABLE,
    USABLE_AVERAGE,
    Budget,
    Judged,
    cut_evenly,
    find_effects,
    find_missing_cost,
    improve,
    judge_survey,
    list_questions,
)
from ldpsql.estimators.base import make_estimator
from ldpsql_lab.simulation import SeededEntropy, histogram_of

# -- simulations -----------------------------------------------------------------------------------


@cache
def realise_all() -> list[Outcome]:
    return [own for seed in range(SURVEYS) for own in realise(seed)]


def share_of_usable(outcomes: list[Outcome], factor: float) -> tuple[float, int]:
    """Of the questions that would be called usable if errors were `factor` times those predicted,
    the share that turn out so, and how many they are."""
    usable = [
        own.realised.verdict != "useless"
        for own in outcomes
        if replace(own.judged, half=factor * own.judged.half).verdict == "usable"
    ]
    return float(np.mean(usable)), len(usable)


@pytest.mark.slow
def test_usable_questions_turn_out_usable() -> None:
    share, questions = share_of_usable(realise_all(), 1.0)
    assert questions > 50
    assert share >= 0.95


@pytest.mark.slow
def test_a_verdict_by_half_the_predicted_error_does_not_hold() -> None:
    """The negative control."""
    share, _ = share_of_usable(realise_all(), 0.5)
    assert share < 0.9


@pytest.mark.slow
def test_counts_keep_to_the_stated_error() -> None:
    """Neither more nor much less than is said."""
    counts = [own for own in realise_all() if own.judged.question.bounds is None]
    ratios = [own.realised.half / own.judged.half for own in counts]
    assert 0.9 < np.median(ratios) < 1.1


# -- what is judged --------------------------------------------------------------------------------

SHOP = survey_toml(
    integer("age", 0, 99),
    category("sex", "f", "m"),
    measure("income", 0, 100_000, required=False),
    mechanism="fourier",
    epsilon="2",
)


SHOP_REQUIRED = SHOP.replace("required = false", "required = true")


@cache
def shop(text: str = SHOP, people: int = 45_000) -> DesignedSurvey:
    return design_survey(text, users=people)


def by_text(designed: DesignedSurvey) -> dict[str, Judged]:
    return {own.question.text: own for own in judge_survey(designed)}


@pytest.mark.parametrize("text", [SHOP, SHOP_REQUIRED], ids=["missing", "required"])
def test_questions_are_columns_pairs_and_averages(text: str) -> None:
    found = by_text(shop(text))
    assert set(found) == {
        "sex",
        "age in ranges",
        "age in ranges by sex",
        "AVG(income) by sex",
        "AVG(income) by age in ranges",
        "AVG(income) by age in ranges by sex",
    }
    assert found["age in ranges by sex"].question.share == pytest.approx(1 / 20)
    assert found["AVG(income) by sex"].question.bounds == (0.0, 100_000.0)


def test_the_error_is_that_of_the_estimates() -> None:
    """Of a count, and of an average as its sum about the middle over the people, whose number adds
    a third of its variance."""
    text = survey_toml(boolean("member"), measure("pay", 0, 10), mechanism="hgrr")
    designed = design_survey(text, users=20_000)
    found = by_text(designed)
    expected = {entry.text: entry for entry in designed.forecast.expect_errors(9)}
    count, average = expected["member ="], expected["SUM(pay) by member ="]
    assert found["member"].half == pytest.approx(1.959964 * count.error / 10_000)
    assert average.average is not None
    divisor = count.error / 10_000
    error = math.hypot(average.average, 5.0 * divisor / math.sqrt(3.0))
    error /= math.sqrt(1.0 - (1.959964 * divisor) ** 2)
    assert found["AVG(pay) by member"].half == pytest.approx(1.959964 * error / 10.0)


def test_people_are_cut_into_equal_ranges() -> None:
    assert cut_evenly(100) == list(range(0, 101, 10))
    assert cut_evenly(13)[-1] == 13
    [age] = [q for q in list_questions(shop().workload) if q.text == "age in ranges"]
    assert all(box.share((100, 2, 3)) == 0.1 for q in age.sample.queries for _, box in q.terms)


def test_declared_queries_are_judged_as_they_are() -> None:
    asked = [
        "SELECT COUNT(*) FROM app WHERE age < 50",
        "SELECT sex, AVG(income) FROM app GROUP BY sex",
        "SELECT SUM(income) FROM app WHERE age < 50",
    ]
    for text in (SHOP, SHOP_REQUIRED):
        designed = shop(f"{text}[workload]\nqueries = {asked}\n".replace("'", '"'))
        judged = judge_survey(designed)
        assert {own.question.text for own in judged} == set(asked)
        averages = [own for own in judged if own.question.bounds]
        assert {own.question.text for own in averages} == {asked[1]}
        assert all(own.question.share == pytest.approx(0.5) for own in averages)


def test_the_limits_are_those_of_the_verdicts() -> None:
    count, average = by_text(shop())["sex"], by_text(shop())["AVG(income) by sex"]
    for own, usable in ((count, USABLE), (average, USABLE_AVERAGE)):
        halves = (SHARP, SHARP * 1.01, usable, usable * 1.01, math.inf)
        verdicts = [replace(own, half=half).verdict for half in halves]
        assert verdicts == ["sharp", "usable", "usable", "useless", "useless"]
    assert replace(count, half=0.1).told == pytest.approx((0.5, 0.55))
    assert replace(average, half=0.1).told == pytest.approx((50_000.0, 60_000.0))


# -- improvements ----------------------------------------------------------------------------------


def test_improvements_are_those_of_designs() -> None:
    designed = shop()
    found, untried = improve(designed, judge_survey(designed), Budget(60.0))
    assert untried == 0
    by_kind = {own.kind: own for own in found}
    assert len(by_kind) == len(found)
    assert [own.score for own in found] == sorted((own.score for own in found), reverse=True)
    for kind, changed in {
        "epsilon": SHOP.replace('epsilon = "2"', 'epsilon = "3"'),
        "bins": SHOP.replace("domain = [0, 99]", "domain = [0, 99]\nbin_width = 10"),
    }.items():
        own = by_kind[kind].after
        again = by_text(shop(changed))[own.question.text]
        assert own.half == pytest.approx(again.half, rel=0.02), kind
    more = by_kind["people"]
    assert more.text == "180,000 people"
    assert more.after.half == pytest.approx(more.before.half / 2.0)
    assert more.better > 0


def test_leaving_out_a_column_helps_where_all_are_answered_together() -> None:
    column = category("region", *"abcdefgh")
    text = survey_toml(boolean("a"), boolean("b"), column, mechanism="grr")
    designed = design_survey(text, users=10_000)
    found, _ = improve(designed, judge_survey(designed), Budget(60.0))
    [left] = [own for own in found if own.kind == "column"]
    assert (left.text, left.cost) == ("leave out region", "region is not known")
    again = by_text(design_survey(text.replace(column, ""), users=10_000))
    own = again[left.after.question.text]
    assert own.half == pytest.approx(left.after.half) != left.before.half


def test_what_is_too_slow_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    judged, ticks = judge_survey(shop()), iter(range(100_000))
    monkeypatch.setattr("ldpsql.designer.auto.clock", lambda: float(next(ticks)))
    found, untried = improve(shop(), judged, Budget(2.0))
    assert untried > 3
    assert len(found) <= 2


def test_work_is_counted_in_designs_of_the_survey() -> None:
    """However long they take: of those as large as the survey, one fits into the work of one."""
    found, untried = improve(shop(), judge_survey(shop()), Budget(60.0, work=1.0))
    assert untried > 0
    assert len({"epsilon", "shuffler"} & {own.kind for own in found}) < 2


def test_the_time_of_improvements_follows_that_of_the_design() -> None:
    slow = replace(shop(), seconds=10.0)
    assert Budget.of(slow, is_quick=False).seconds == 2.5
    assert Budget.of(slow, is_quick=True).seconds == 1.0
    assert Budget.of(replace(slow, seconds=0.1), is_quick=True).seconds == 0.5


@pytest.mark.parametrize("budget", [Budget(0.0), Budget(60.0, work=0.0)], ids=["time", "work"])
def test_more_people_are_always_tried(budget: Budget) -> None:
    found, untried = improve(shop(), judge_survey(shop()), budget)
    assert [own.kind for own in found] == ["people"]
    assert untried > 6


def test_half_of_many_columns_are_left_out() -> None:
    text = survey_toml(*(boolean(f"c{i}") for i in range(6)), mechanism="fourier")
    designed = design_survey(text, users=3_000)
    found, _ = improve(designed, judge_survey(designed), Budget(60.0, work=60.0))
    [half] = [own for own in found if own.kind == "columns"]
    assert half.text == "leave out 3 of 6 columns"
    kept = survey_toml(*(boolean(f"c{i}") for i in range(3, 6)), mechanism="fourier")
    again = by_text(design_survey(kept, users=3_000))[half.after.question.text]
    assert half.after.half == pytest.approx(again.half, rel=1e-6)
    assert half.after.half < half.before.half


def test_what_stays_hopeless_is_no_improvement() -> None:
    designed = shop(people=20)
    judged = judge_survey(designed)
    assert all(own.half > LARGEST for own in judged if len(own.question.shares) > 1)
    found, _ = improve(designed, judged, Budget(60.0))
    assert all(own.after.half <= LARGEST for own in found)


def test_a_column_that_is_lost_costs_what_was_usable() -> None:
    judged = judge_survey(shop(people=10_000_000))
    found, _ = improve(shop(people=10_000_000), judged, Budget(60.0))
    assert all(own.lost > 0 for own in found if own.kind in ("column", "predicates"))


# -- missing values --------------------------------------------------------------------------------


def test_what_missing_measures_cost_is_that_of_two_designs() -> None:
    """The one is the survey, in the other they are required."""
    judged, required = judge_survey(shop()), by_text(shop(SHOP_REQUIRED))
    cost = find_missing_cost(shop(), judged, Budget(60.0))
    assert cost is not None
    assert cost.names == ("income",)
    counts = [own for own in judged if own.question.bounds is None]
    ratios = [own.half / required[own.question.text].half for own in counts]
    assert cost.others == pytest.approx(math.prod(ratios) ** (1.0 / len(ratios)), rel=1e-6)
    assert cost.others > 1.02
    words = " ".join(" ".join(verdict(shop())).split())
    assert f"of other questions {cost.others:.2f} times what it would be" in words


def test_a_required_measure_costs_nothing() -> None:
    designed = shop(SHOP_REQUIRED)
    assert find_missing_cost(designed, judge_survey(designed), Budget(60.0)) is None
    assert not any(line.startswith("missing") for line in verdict(designed))


# -- differences -----------------------------------------------------------------------------------


def test_the_sample_that_is_named_tells_the_difference() -> None:
    for effect in find_effects(judge_survey(shop()), 0.02, 45_000):
        people = round(effect.people)
        again = {
            own.text: own for own in find_effects(judge_survey(shop(people=people)), 0.02, people)
        }
        assert again[effect.text].power == pytest.approx(0.8, abs=0.01)
        if effect.text == "sex, two halves of the people":
            break


def test_differences_of_everybody_and_of_declared_questions_are_between_halves() -> None:
    """Whose answers have twice the variance; of sums nothing is said."""
    text = survey_toml(boolean("a"), measure("pay", 0, 100), mechanism="fourier")
    asked = ["SELECT AVG(pay) FROM app", "SELECT SUM(pay) FROM app WHERE a"]
    designed = shop(f"{text}[workload]\nqueries = {asked}\n".replace("'", '"'))
    judged = {own.question.text: own for own in judge_survey(designed)}
    [effect] = find_effects(tuple(judged.values()), 0.02, 45_000)
    assert effect.text == f"{asked[0]}, two halves of the people"
    error = 2.0 * judged[asked[0]].half / 1.959964  # of the difference of two halves
    shift = 0.02 / error
    assert effect.power == pytest.approx(NormalDist().cdf(shift - 1.959964), abs=1e-3)
    assert judged[asked[1]].told is None


def test_differences_are_told_as_often_as_is_said() -> None:
    """Halves of the people, of whom 55 % and 45 % are women: a two-sided test at 5 %."""
    text = survey_toml(category("sex", "f", "m"), mechanism="grr", epsilon="1")
    people, runs, told = 1_000, 400, 0
    designed = design_survey(text, users=people)
    judged, design = judge_survey(designed), designed.survey.design
    [effect] = find_effects(judged, 0.1, people)
    error = judged[0].half / 1.959964 * 0.5 * math.sqrt(2.0)
    women = design.prepare(judged[0].question.sample.queries[0])
    random = np.random.default_rng(1)
    for run in range(runs):
        found = []
        for half, share in enumerate((0.55, 0.45)):
            codes = (random.random((people // 2, 1)) >= share).astype(np.int64)
            reports = design.randomize(codes, SeededEntropy(2 * run + half))
            answer = make_estimator(design, histogram_of(reports)).values([women])
            found.append(float(answer[0]) / (people // 2))
        told += abs(found[0] - found[1]) > 1.959964 * error * math.sqrt(2.0)
    spread = math.sqrt(effect.power * (1.0 - effect.power) / runs)
    assert 0.2 < effect.power < 0.9
    assert abs(told / runs - effect.power) < 4.9 * spread  # one in a million


# -- lines -----------------------------------------------------------------------------------------


def test_what_cannot_be_predicted_is_said() -> None:
    text = survey_toml(boolean("a"), boolean("b"), mechanism="srr-ss")
    designed = design_survey(text)
    assert "no answer    a by b (-v: why)" in verdict(designed, most_lines=20)
    judged = judge_survey(designed)
    assert [own.question.text for own in judged if math.isinf(own.half)] == ["a by b"]
