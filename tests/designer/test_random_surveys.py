"""Surveys as anybody might write them are designed, and answer what they were designed for.

Warnings of numpy are errors here, as in all tests.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.random_surveys import random_survey

from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.designer import DesignedSurvey, design_survey
from ldpsql.designer.forecast import sample_queries
from ldpsql.recipes.fourier import optimise
from ldpsql_device.errors import SurveyError

QUICK = {"codes": 40, "dimensions": 4}


def check(designed: DesignedSurvey) -> None:
    """Everything asked has an answer, and a finite error."""
    assert np.isfinite(designed.forecast.error)
    design = designed.survey.design
    for sample in sample_queries(designed.workload, 18):
        for query in sample.queries:
            design.prepare(query)
    if isinstance(design, FourierDesign):
        assert design.missing() is None


@pytest.mark.parametrize("seed", range(6))
def test_small_surveys_answer_their_workload(seed: int) -> None:
    check(design_survey(random_survey(seed, **QUICK), mechanism="fourier"))


def test_a_design_that_cannot_answer_is_refused_in_three_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: pruning that brings nothing back."""
    monkeypatch.setattr(
        optimise, "_keep_informed", lambda problem, weights, kept: kept / kept.sum()
    )
    monkeypatch.setattr(optimise, "_ROUNDS", 0)
    monkeypatch.setattr(optimise, "MOST_CELLS", 1000)
    monkeypatch.setattr(optimise.Problem, "solve", lambda self, weights, steps: weights)
    text = random_survey(3, **QUICK)
    with pytest.raises(SurveyError, match="cannot answer its workload") as refusal:
        design_survey(text, mechanism="fourier")
    assert len(str(refusal.value).splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [6, 7, 100])
def test_surveys_of_any_size_answer_their_workload(seed: int) -> None:
    check(design_survey(random_survey(seed)))
