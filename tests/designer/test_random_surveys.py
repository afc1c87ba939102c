"""Surveys as anybody might write them are designed, and answer what they were designed for.

Warnings of numpy are errors here, as in all tests.
"""

from __future__ import annotations

import pytest
from support.tiers import keep_fast

from benchmarks.random_surveys import check, measure, random_survey
from ldpsql.designer import design_survey
from ldpsql.mechanisms.fourier import optimise
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql_device.errors import SurveyError

QUICK = {"codes": 40, "dimensions": 4}


@pytest.mark.fast(1)
@pytest.mark.parametrize("seed", keep_fast(range(6), (1, 3)))
def test_small_surveys_answer_their_workload(seed: int) -> None:
    designed = design_survey(random_survey(seed, **QUICK), mechanism="fourier")
    check(designed)
    assert isinstance(designed.survey.design, FourierDesign)
    assert designed.survey.design.find_missing() is None


def test_a_design_that_cannot_answer_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: pruning that brings nothing back."""
    monkeypatch.setattr(
        optimise, "_keep_informed", lambda problem, weights, kept: kept / kept.sum()
    )
    monkeypatch.setattr(optimise, "_ROUNDS", 0)
    monkeypatch.setattr(optimise, "MOST_CELLS", 1000)
    monkeypatch.setattr(optimise.DesignProblem, "solve", lambda self, weights, steps: weights)
    text = random_survey(3, **QUICK)
    with pytest.raises(SurveyError, match="cannot answer its workload") as refusal:
        design_survey(text, mechanism="fourier")
    assert "; ask about fewer columns together" in str(refusal.value)


def test_all_kinds_of_columns_and_queries_occur() -> None:
    texts = " ".join(random_survey(seed) for seed in range(40))
    for kind in ("int", "float", "category", "bool", "date", "timestamp"):
        assert f'type = "{kind}"' in texts
    for part in ("missing = ", "[measure", "max_predicates", "GROUP BY", " IN (", "BETWEEN"):
        assert part in texts
    assert random_survey(3) == random_survey(3) != random_survey(4)


def test_what_fails_is_told() -> None:
    """The negative control of the benchmark: a survey that nothing is designed for."""
    found = measure("[survey]\n")
    assert found["problem"] == "SurveyError: [survey]: table is missing"
    assert found["seconds"] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(20), 88, 109, 150, 151, 216])
def test_surveys_of_any_size_answer_their_workload(seed: int) -> None:
    found = measure(random_survey(seed))
    assert found["problem"] is None
    assert found["bytes"] < 2e9
