"""Rows that are one row moved about are answered together, as they are alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import integer, measure, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design
from ldpsql.mechanisms.fourier import estimator as estimators
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.group import Group
from ldpsql.mechanisms.fourier.spectra import BoxQuery, BoxTerm
from ldpsql.mechanisms.fourier.translates import Translate
from ldpsql.reports.report import Histogram
from ldpsql.store import Selection
from ldpsql_lab.simulation import collect


def answered(epsilon: str, most: int, people: int) -> tuple[FourierDesign, Histogram]:
    """Reports of people of whom few are alike."""
    columns = integer("x", 0, 11), integer("y", 0, 6), measure("pay", 0, most)
    survey = design(survey_toml(*columns, epsilon=epsilon, mechanism="fourier"))
    random = np.random.default_rng(5)
    x, y = random.binomial(11, 0.3, people), random.binomial(6, 0.7, people)
    table = pa.table({"x": x, "y": y, "pay": random.random(people) * most})
    survey, store = collect(survey, table, seed=3)
    ((_, found),) = store.histograms(survey.table, Selection())
    assert isinstance(survey.design, FourierDesign)
    return survey.design, found


def grouped(made: FourierDesign, width: int = 1) -> list[list[BoxQuery]]:
    """COUNT and SUM by x in bins and y, and by x alone: whole, and of the upper half of y."""
    x = [((low, min(low + width, 12)),) for low in range(0, 12, width)]
    boxes = [Box((side, ((code, code + 1),))) for side in x for code in range(7)]
    boxes += [Box((side, None)) for side in x] + [Box((side, ((3, 7),))) for side in x]
    return [
        [made.prepare(LinearQuery.count(box)), made.prepare(LinearQuery.sum(0, box))]
        for box in boxes
    ]


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("epsilon", "most", "people"), [("1", 10, 20_000), ("2", 10, 90), ("4", 1, 5_000)]
)
@pytest.mark.parametrize("width", [1, 5])
def test_rows_together_are_as_they_are_alone(
    monkeypatch: pytest.MonkeyPatch, epsilon: str, most: int, people: int, width: int
) -> None:
    """Values and covariances, also of the few last bins, which are shorter, and of few people."""
    made, found = answered(epsilon, most, people)
    rows = grouped(made, width)
    answers = []
    for alike in (2, 1 << 30):
        monkeypatch.setattr(estimators, "ALIKE", alike)
        estimator = made.estimator(found)
        answers.append(estimator.answer_rows(rows))
        assert bool(estimator._translates) == (alike == 2)
    for together, alone in zip(*answers, strict=True):
        np.testing.assert_allclose(together.values, alone.values, rtol=1e-9, atol=1e-9 * people)
        scale = np.abs(alone.covariance).max()
        np.testing.assert_allclose(together.covariance, alone.covariance, atol=1e-9 * scale)


def test_bins_of_several_codes_move_whole() -> None:
    """Parts of a bin, the last bin and codes apart are what they are, and stay where they are."""
    group = Group((5,), (5,), (11,), ((0,),), (1,))
    assert group.edges(0).tolist() == [0, 3, 6, 9, 10, 11]

    def moved(*side: tuple[int, int]) -> tuple[object, tuple[int, ...]]:
        query = BoxQuery(2.0, (BoxTerm(1.0, (0,), (side,)),), None, 1.0, 0.0)
        found = Translate.of([query], group)
        assert found.pattern[0].known == 0.0
        return found.pattern[0].terms[0].sides[0], found.bins

    assert moved((3, 6)) == (((0, 3),), (1,))
    assert moved((4, 5), (7, 9)) == (((1, 2), (4, 6)), (1,))
    assert moved((6, 10)) == (((6, 10),), ())
    assert moved((9, 10)) == (((9, 10),), ())
    assert moved((10, 11)) == (((10, 11),), ())


def test_many_rows_that_ask_nothing_are_answered() -> None:
    """Keys alone, as in SELECT DISTINCT x, y."""
    made, histogram = answered("2", 10, 500)
    answers = made.estimator(histogram).answer_rows([[] for _ in range(40)])
    assert [answer.values.shape for answer in answers] == [(0,)] * 40
