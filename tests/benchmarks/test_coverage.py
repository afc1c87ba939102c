"""The benchmark of coverage in odd populations tells intervals that hold from such that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.significance import normal_bound

from benchmarks.coverage import Trial, standard_error, survey
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


def test_answers_of_one_survey_are_not_counted_as_many() -> None:
    """Intervals of a survey that all hold or all fail tell as much as one."""
    one = (np.random.default_rng(1).random(400) < 0.9).astype(np.float64)
    alike = np.repeat(one[:, None], 5, axis=1)
    assert standard_error(alike) == pytest.approx(one.std() / math.sqrt(400))
