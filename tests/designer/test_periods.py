"""A share of the periods beside all of them, for the same sum of epsilons."""

from __future__ import annotations

from functools import cache

import pytest
from support.surveys import integer, survey_toml

from ldpsql.audit.check import count_answers
from ldpsql.audit.lines import year_line
from ldpsql.cli.forecast import year_of
from ldpsql.designer import DesignedSurvey, design_survey, predict_errors
from ldpsql.designer.periods import compare_year
from ldpsql_device.errors import InternalError
from ldpsql_device.survey import Schedule


@cache
def designed(**more: object) -> DesignedSurvey:
    known = {"period": "week", "sample": "1/13", "users": 130_000, "epsilon": "2", **more}
    kept = {key: value for key, value in known.items() if value is not None}
    return design_survey(survey_toml(integer("age", 0, 7), mechanism="grr", **kept))


def test_errors_are_those_of_the_people_of_one_period() -> None:
    assert designed().people == 10_000
    assert designed(sample=None).people == 130_000
    assert "errors are those of one week, which 10,000 of 130,000 people answer" in designed().notes


def test_a_published_survey_predicts_the_errors_of_one_period() -> None:
    found = predict_errors(designed().survey)
    assert found.people == 10_000
    assert found.half_width == pytest.approx(designed().forecast.half_width)


def test_a_year_is_compared_with_reports_in_every_period() -> None:
    """GRR over 8 codes has the variance (e^eps + 6) / (e^eps - 1)^2 of one report, about."""
    own, other = compare_year(designed())
    assert (own.answers, str(own.epsilon)) == (4, "2")
    assert (other.answers, str(other.epsilon)) == (52, "0.1538")
    # A week has a thirteenth of the people, and a year four reports of each.
    assert own.of_period / own.of_year == pytest.approx(52**0.5)
    assert other.of_period / other.of_year == pytest.approx(52**0.5)
    assert own.of_year < 0.5 * other.of_year
    assert own.of_period < 0.5 * other.of_period


def test_without_a_sample_there_is_nothing_to_compare() -> None:
    assert compare_year(designed(sample=None)) is None
    assert year_of(designed(sample=None)) == []


def test_design_prints_both() -> None:
    (first, own), (second, other) = year_of(designed())
    assert (first, second) == ("a year", "instead")
    assert own.startswith("4 reports of epsilon 2 from each person: a typical count to ± ")
    assert other.startswith("for the same epsilon in all, 52 reports of epsilon 0.1538 from each")


def test_an_epsilon_that_is_too_small_to_share_out_is_said() -> None:
    ((_, said),) = year_of(designed(epsilon="0.01"))
    assert said.startswith("what answers in all periods would tell is not known: epsilon must lie")


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Schedule(period="week", sample=13), (4, 52)),
        (Schedule(period="week", sample=12), (5, 52)),
        (Schedule(period="month", sample=4), (3, 12)),
        (Schedule(period="day", sample=30), (13, 365)),
        (Schedule(period="day", sample=366), (1, 365)),
        (Schedule(period="month"), (12, 12)),
    ],
)
def test_answers_of_a_year_are_counted(schedule: Schedule, expected: tuple[int, int]) -> None:
    assert count_answers(schedule) == expected


def test_control_a_rule_that_gives_more_answers_than_are_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = Schedule.turn_of
    monkeypatch.setattr(Schedule, "turn_of", lambda self, day: rule(self, day) // 2)
    with pytest.raises(InternalError, match="8 answers in a year, not 4"):
        count_answers(Schedule(period="week", sample=13))


def test_audit_says_what_a_year_costs_and_how_that_was_counted() -> None:
    assert year_line(designed().survey) == (
        "4 in any 52 weeks in a row have epsilon 8 together (counted for each of 13 offsets and "
        "every week to begin with: at most 4 answers in 52 weeks)"
    )
    assert year_line(designed(sample=None, period="month").survey) == (
        "12 in a year have epsilon 24 together"
    )
