"""Intervals of functions of sums hold the truth as often as they say, over simulated surveys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import function_coverage
from benchmarks.function_coverage import (
    AGE,
    HOURS,
    OF_LEVELS,
    OF_SQUARES,
    OF_TWO,
    SCHOOL,
    SURVEY,
    Trial,
    is_met,
    level_chances,
    limits_of,
)
from ldpsql.designer import design
from ldpsql.engine.arithmetic import Sums
from ldpsql_device.schema import Measure

SURVEYS = 600


def pupils(people: int = 40_000) -> pa.Table:
    """Made-up years of school, and an income that grows with them."""
    random = np.random.default_rng(5)
    years = np.clip(np.rint(random.normal(10.2, 2.6, people)), 1, 16).astype(np.int64)
    is_rich = random.random(people) < years / 40
    return pa.table({"years": years, "income": np.where(is_rich, ">50K", "<=50K")})


def trial(mechanism: str = "grr", epsilon: str = "2") -> Trial:
    """Functions of years of school, and what these have to do with income."""
    text = SURVEY.format(epsilon=epsilon, mechanism=mechanism, columns=SCHOOL)
    return Trial(design(text), pupils(), OF_TWO)


def workers(people: int = 20_000) -> pa.Table:
    """Made-up hours of work, of which those with a high income have more."""
    random = np.random.default_rng(6)
    is_rich = random.random(people) < 0.3
    hours = np.clip(np.rint(random.normal(36.0 + 8.0 * is_rich, 12.0)), 0, 80).astype(np.int64)
    return pa.table({"hours": hours, "income": np.where(is_rich, ">50K", "<=50K")})


@pytest.mark.slow
@pytest.mark.parametrize(("more", "wanted"), [("", OF_LEVELS), (", VAR_POP(hours)", OF_SQUARES)])
def test_intervals_of_measures_with_levels_cover(more: str, wanted: tuple[str, ...]) -> None:
    columns = HOURS.format(more=more)
    text = SURVEY.format(epsilon="2", mechanism="staircase", columns=columns)
    own = Trial(design(text), workers(), wanted)
    assert own.survey.schema.measures[0].levels > 2
    inside, _ = own.judge(own.sums(SURVEYS, seed=1))
    assert all(is_met(column, limits_of("", "")) for column in inside.T)
    shifted = replace(own)
    shifted.__dict__["truth"] = own.truth * 1.1  # the negative control
    inside, _ = shifted.judge(own.sums(SURVEYS, seed=1))
    assert not all(is_met(column, limits_of("", "")) for column in inside.T)


@pytest.mark.parametrize("how", [(5, "linear"), (2, "linear"), (6, "quadratic"), (3, "quadratic")])
def test_chances_of_levels_are_those_of_a_device(how: tuple[int, str]) -> None:
    """By words at even distances."""
    measure = Measure("hours", (-10.0, 90.0), levels=how[0], rounding=how[1])
    words = [(2 * k + 1) << 55 for k in range(256)]
    for value in (-10.0, -3.0, 14.0, 40.0, 77.5, 90.0):
        drawn = [measure.level(measure.threshold(value)[0], word) for word in words]
        chances = np.zeros(how[0])
        for level, chance in level_chances(measure, value):
            chances[level] += chance
        assert chances == pytest.approx(np.bincount(drawn, minlength=how[0]) / 256, abs=0.01)


@pytest.fixture(scope="module")
def asked() -> Trial:
    return trial()


@pytest.fixture(scope="module")
def sums(asked: Trial) -> Sums:
    """Of 600 surveys."""
    return asked.sums(SURVEYS, seed=1)


def met(asked: Trial, sums: Sums) -> dict[str, bool]:
    """By answer whether its coverage is what it has to be."""
    inside, _ = asked.judge(sums)
    return {
        sql: is_met(inside[:, place], limits_of("", sql)) for place, sql in enumerate(asked.wanted)
    }


def test_intervals_cover(asked: Trial, sums: Sums) -> None:
    assert all(met(asked, sums).values())


def test_intervals_without_covariances_do_not(asked: Trial, sums: Sums) -> None:
    """The negative control: sums of one survey taken for independent.

    Of one number there is little to see, whose moments about the middle of the domain hardly vary
    together; answers about two do.
    """
    diagonal = np.einsum("rtt->rt", sums.covariance)
    alone = replace(sums, covariance=np.einsum("rt,ts->rts", diagonal, np.eye(diagonal.shape[1])))
    found = met(asked, alone)
    of_pairs = ("CORR", "COVAR_SAMP", "REGR_SLOPE", "REGR_R2")
    compared = [sql for sql in OF_TWO if sql.startswith(of_pairs) or " - AVG" in sql]
    assert len(compared) == 5
    assert not any(found[sql] for sql in compared)


def test_intervals_of_a_third_of_the_variance_do_not(asked: Trial, sums: Sums) -> None:
    found = met(asked, replace(sums, covariance=sums.covariance / 3.0))
    assert not any(found[sql] for sql in OF_TWO if "MEDIAN" not in sql)


@pytest.mark.slow
def test_intervals_of_quantiles_cover() -> None:
    """Over 74 values; with a third of the standard errors they do not."""
    random = np.random.default_rng(4)
    ages = np.clip(np.rint(random.normal(45, 14, 60_000)), 17, 90).astype(np.int64)
    text = SURVEY.format(epsilon="2", mechanism="grr", columns=AGE)
    quantiles = ("QUANTILE_DISC(age, 0.1)", "MEDIAN(age)", "QUANTILE_CONT(age, 0.9)")
    asked = Trial(design(text), pa.table({"age": ages}), quantiles)
    sums = asked.sums(300, seed=1)
    assert all(met(asked, sums).values())
    assert not any(met(asked, replace(sums, covariance=sums.covariance / 9.0)).values())


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "2"])
@pytest.mark.parametrize("mechanism", ["fourier", "staircase"])
def test_intervals_of_5000_surveys_cover(mechanism: str, epsilon: str) -> None:
    chosen = trial(mechanism, epsilon)
    assert all(met(chosen, chosen.sums(5_000, seed=2)).values())


def test_a_survey_is_drawn_from_the_law_of_reports(asked: Trial) -> None:
    """The sums of simulated surveys lie about the truth."""
    years = asked.table["years"].to_numpy()
    is_rich = asked.table["income"].to_numpy() == ">50K"
    values = asked.sums(200, seed=3).values
    place = [target.label for target in asked.plan.targets].index(
        "COUNT(years <= 9) under filter 1"
    )
    truth = int(np.sum((years <= 9) & is_rich))
    error = values[:, place].std() / np.sqrt(len(values))
    assert abs(values[:, place].mean() - truth) < 5 * error


def test_the_benchmark_needs_its_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(function_coverage, "folder", lambda: None)
    monkeypatch.setattr(function_coverage, "print_quantiles", lambda: None)
    function_coverage.run()
    assert "skipped" in capsys.readouterr().out
