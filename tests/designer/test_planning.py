"""How many people, or how much epsilon, a precision takes."""

from __future__ import annotations

import pytest

from ldpsql.designer import designed
from ldpsql.designer.forecast import Forecast
from ldpsql.designer.planning import _place, epsilon_at, least_epsilon, least_users
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

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
"""


@pytest.fixture(scope="module")
def survey():
    return designed(TOML, users=10_000)


def at(survey):
    """The forecast at an epsilon, and the epsilons that were tried."""
    tried: list[Epsilon] = []

    def forecast(epsilon: Epsilon) -> Forecast:
        tried.append(epsilon)
        design = mechanism("olh").design(survey.survey.schema.record_domain, epsilon, {})
        return Forecast.of(design, survey.forecast.probes, survey.people)

    return forecast, tried


def test_places_are_epsilons_of_three_digits():
    assert [str(epsilon_at(place)) for place in (0, 1, 900, 2700, 3600, 3700)] == [
        "0.001",
        "0.00101",
        "0.01",
        "1",
        "10",
        "20",
    ]
    for text in ("0.001", "0.0123", "1", "1.23", "9.99", "10", "20"):
        assert str(epsilon_at(_place(Epsilon.parse(text)))) == text
    assert str(epsilon_at(_place(Epsilon.parse("1.2349")))) == "1.23"


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02, 0.015])
def test_the_smallest_epsilon_suffices_and_the_next_smaller_does_not(survey, share):
    forecast, tried = at(survey)
    found = least_epsilon(survey.forecast, share, forecast)
    assert len(tried) <= 25
    assert forecast(found).half_width <= share
    assert forecast(epsilon_at(_place(found) - 1)).half_width > share


def test_what_no_epsilon_gives_is_none(survey):
    forecast, tried = at(survey)
    assert least_epsilon(survey.forecast, 1e-4, forecast) is None
    assert len(tried) <= 25


def test_an_easy_wish_takes_the_smallest_epsilon(survey):
    def easy(epsilon: Epsilon) -> Forecast:
        return survey.forecast

    assert str(least_epsilon(survey.forecast, 0.9, easy)) == "0.001"


def test_an_epsilon_without_a_design_is_not_enough(survey):
    def refusing(epsilon: Epsilon) -> Forecast:
        if epsilon.value < 2:
            raise SurveyError("too small")
        return survey.forecast

    assert str(least_epsilon(survey.forecast, 0.9, refusing)) == "2"


@pytest.mark.parametrize("share", [0.5, 0.02, 0.001])
def test_the_fewest_people(survey, share):
    users = least_users(survey.forecast, share)
    design, probes = survey.survey.design, survey.forecast.probes
    assert Forecast.of(design, probes, users).half_width <= share * (1 + 1e-9)
    assert Forecast.of(design, probes, users - 1).half_width > share


def test_sums_do_not_count_towards_a_typical_count(survey):
    counts = [
        variance
        for probe, variance in zip(survey.forecast.probes, survey.forecast.variances, strict=True)
        if probe.is_count
    ]
    assert len(counts) == 1 < len(survey.forecast.probes)
    assert survey.forecast.half_width == pytest.approx(1.959964 * counts[0] ** 0.5 / 10_000)
    sums = designed(TOML + '[workload]\nqueries = ["SELECT SUM(pay) FROM app WHERE x < 5"]\n')
    assert 0 < sums.forecast.half_width < 1
