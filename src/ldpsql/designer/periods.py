"""What a year costs a person who is asked in some periods only, beside being asked in all."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from ldpsql.designer import DesignedSurvey
from ldpsql.designer.forecast import Forecast
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.survey import PERIODS


@dataclass(frozen=True)
class YearOfAnswers:
    """A person's answers in a year, and what everybody's tell.

    answers: of a person.  epsilon: of each.  of_period, of_year: half of the interval of a typical
    count, as a share of the people, of one period and of the mean over the year.
    """

    answers: int
    epsilon: Epsilon
    of_period: float
    of_year: float


def compare_year(designed: DesignedSurvey) -> tuple[YearOfAnswers, YearOfAnswers] | None:
    """A year of a survey that asks each person in some of its periods, and one in which all answer
    in each, for the same sum of epsilons; None for other surveys.

    Errors as of `Forecast.of`; SurveyError where the smaller epsilon is below the least.
    """
    survey, schedule = designed.survey, designed.survey.schedule
    if schedule.period is None or schedule.sample is None or survey.guarantee.epsilon is None:
        return None
    periods = PERIODS[schedule.period]
    answers = schedule.answers_in(periods)
    own, samples = survey.epsilon, designed.forecast.samples
    smaller = (answers * own.value / periods).quantize(Decimal("0.0001"), ROUND_DOWN)
    recipe, workload = registered(survey.design.name), designed.workload
    other = recipe.design(workload.domain, Epsilon.parse(str(smaller)), survey.options, workload)
    asked, everybody = designed.people, designed.people * schedule.sample
    found = []
    for design, epsilon, count, people in (
        (survey.design, own, answers, asked),
        (other, Epsilon.parse(str(smaller)), periods, everybody),
    ):
        of_period, of_year = (
            Forecast.of(design, samples, reports).half_width
            for reports in (people, count * everybody)
        )
        found.append(YearOfAnswers(count, epsilon, of_period, of_year))
    return found[0], found[1]
