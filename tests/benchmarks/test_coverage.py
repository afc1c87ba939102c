"""The benchmark of coverage in odd populations tells intervals that hold from such that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.significance import normal_bound

from benchmarks.coverage import CROWD, Trial, crowd_survey, standard_error, survey
from benchmarks.odd_tables import ODD_TABLES

SURVEYS = 60


@pytest.mark.slow
def test_a_trial_judges_intervals() -> None:
    """The control: answers are not about twice as many people."""
    table = ODD_TABLES["dependent"]
    trial = Trial(survey("6", table), table, ("COUNT(*) FILTER (WHERE code <= 7)", "AVG(code)"))
    slack = normal_bound() * math.sqrt(0.05 * 0.95 / SURVEYS)
    assert trial.truths == pytest.approx([250.0, 7.5], rel=0.01)
    assert (trial.inside(SURVEYS, seed=5).mean(axis=0) >= 0.95 - slack).all()
    vars(trial)["truths"] = 2.0 * trial.truths
    assert (trial.inside(SURVEYS, seed=5).mean(axis=0) < 0.95 - slack).all()


@pytest.mark.slow
def test_intervals_behind_a_shuffler_hold() -> None:
    """Of counts of boxes, and sums and averages of a measure. The control: those of 60 % do not."""
    table, batches = ODD_TABLES["dependent"], 200
    asked = ("COUNT(*) FILTER (WHERE code <= 7)", "SUM(pay)", "AVG(pay)")
    own, slack = crowd_survey("1", table), normal_bound() * math.sqrt(0.05 * 0.95 / batches)
    assert float(own.design.epsilon) > 3.0
    held = {
        confidence: Trial(own, table, asked, CROWD, confidence).inside(batches, seed=5)
        for confidence in (0.95, 0.6)
    }
    assert (held[0.95].mean(axis=0) >= 0.95 - slack).all()
    assert (held[0.6].mean(axis=0) < 0.95 - slack).all()


def test_answers_of_one_survey_are_not_counted_as_many() -> None:
    """Intervals of a survey that all hold or all fail tell as much as one."""
    one = (np.random.default_rng(1).random(400) < 0.9).astype(np.float64)
    alike = np.repeat(one[:, None], 5, axis=1)
    assert standard_error(alike) == pytest.approx(one.std() / math.sqrt(400))
