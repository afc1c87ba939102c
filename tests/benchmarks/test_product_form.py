"""The benchmark of product form, on a survey small enough for a test."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import product_form
from benchmarks.product_form import Case, compressed, coverage, truth
from ldpsql.algebra.boxes import Box, LinearQuery

CASE = Case((12, 10), 1, "1")


@pytest.mark.slow
def test_every_table_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product_form, "PEOPLE", 200)
    monkeypatch.setattr(product_form, "SURVEYS", 2)
    product_form.run((CASE,), (CASE,))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 12 x 10")]
    first, second = (line.strip("| ").split(" | ") for line in lines)
    assert first[3] == f"{compressed(CASE.survey('listed')) / 1e3:.1f}"
    assert first[4] == f"{compressed(CASE.survey('product')) / 1e3:.1f}"
    assert 0.9 < float(first[5]) < 1.1
    assert all(0.0 <= float(cell) <= 1.0 for cell in second[3:])


@pytest.mark.slow
def test_intervals_that_are_too_narrow_do_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.15 standard errors to either side cover about 12 %."""
    monkeypatch.setattr(product_form, "PEOPLE", 2_000)
    assert min(map(float, coverage(CASE, 20))) > 0.8
    assert max(map(float, coverage(CASE, 20, 0.15))) < 0.4


def test_truth_is_a_mean_over_people() -> None:
    codes = np.array([[0, 1, 1], [3, 2, 0], [2, 5, 1]])
    box = Box((((0, 3),), ((1, 6),)))
    assert truth(LinearQuery.count(box), codes, 2) == pytest.approx(2 / 3)
    assert truth(LinearQuery.sum(0, box), codes, 2) == pytest.approx(2 / 3)
