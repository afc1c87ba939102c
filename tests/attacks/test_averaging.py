"""Averaging what one device sends over a year, about an answer that never changes.

The collector asks three times a week, keeps every line that leaves, and multiplies the odds of them
all. It succeeds where that is more than the budget of the year: e^(4 x 0.5) for a survey that asks
a device in one of 13 weeks at epsilon 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import date, timedelta
from fractions import Fraction

import pytest
from support.giving import PLENTY, scheduled, yes_or_no
from support.surveys import ANYTHING, boolean, survey_toml

from ldpsql.designer import design
from ldpsql_device.answer import respond
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import OperationalError
from ldpsql_device.law import laws
from ldpsql_device.ledger import Ledger
from ldpsql_device.reports import Report, numbers_of
from ldpsql_device.survey import Published

MONDAY, PEOPLE = date(2026, 1, 5), 12
DAYS = [MONDAY + timedelta(days=7 * week + day) for week in range(52) for day in (0, 2, 6)]
BUDGET = Epsilon.parse("2").odds
EASILY_BEYOND = 9
"""Of so many the odds of 156 fresh reports exceed the budget: each has an expected logarithm of
19.1 with a standard deviation of 6.1, so that four of twelve fail with 2e-8."""


def yearly() -> Published:
    text = survey_toml(boolean("positive"), epsilon="0.5", mechanism="grr")
    return scheduled(design(text), period="week", sample=13, replay_window=7)


def odds(survey: Published, reports: Collection[Report], truth: bool) -> Fraction:
    """How much likelier all of them are for the true answer than for the other one, exactly."""
    by_answer = laws(survey.plan, [[0], [1]])
    found = Fraction(1)
    for report in reports:
        numbers = numbers_of(report, survey)
        found *= by_answer[truth][numbers] / by_answer[not truth][numbers]
    return found


@pytest.mark.parametrize("truth", [False, True])
def test_a_year_of_asking_tells_no_more_than_four_reports(memory_folder, truth):
    survey = yearly()
    for person in range(PEOPLE):
        ledger, sent = Ledger(memory_folder / str(person), **PLENTY), list[Report]()
        for day in DAYS:
            try:
                sent.append(
                    respond(survey, {"positive": truth}, policy=ANYTHING, ledger=ledger, today=day)
                )
            except OperationalError:
                continue
        lines = {report.to_json(): report for report in sent}
        assert (len(sent), len(lines)) == (12, 4)  # the same line again is no news
        found = odds(survey, lines.values(), truth)
        assert 1 / BUDGET <= found <= BUDGET
        assert ledger.spent() == 2


@pytest.mark.parametrize("truth", [False, True])
def test_control_a_fresh_report_whenever_asked_tells_the_answer(truth):
    survey = yes_or_no("0.5")
    beyond = 0
    for _ in range(PEOPLE):
        sent = [respond(survey, {"positive": truth}, policy=ANYTHING) for _ in DAYS]
        beyond += odds(survey, sent, truth) > BUDGET
    assert beyond >= EASILY_BEYOND


def test_control_so_many_reports_are_beyond_as_often_as_said():
    """The expected logarithm of the odds, and its spread, of the attack above."""
    chance = math.exp(0.5) / (1.0 + math.exp(0.5))
    mean, spread = 0.5 * (2 * chance - 1), 0.5 * math.sqrt(1 - (2 * chance - 1) ** 2)
    assert len(DAYS) * mean == pytest.approx(19.1, abs=0.05)
    assert math.sqrt(len(DAYS)) * spread == pytest.approx(6.1, abs=0.1)
