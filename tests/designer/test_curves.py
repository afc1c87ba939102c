"""The numbers of a picture, against the exact channel and brute force."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.designer import design_survey
from ldpsql.designer.forecast import MOST_LENGTHS, demand_curves, error_curves, information_curves
from ldpsql.reports.channel import enumerate_law

HEAD = '[survey]\ntable = "t"\nepsilon = "1"\nmechanism = "{}"\n'
AGE = '[dimension.age]\ntype = "int"\ndomain = [0, {}]\n'
SEX = '[dimension.sex]\ntype = "category"\nvalues = ["f", "m"]\n'


def survey(mechanism: str, size: int = 8, more: str = ""):
    return design_survey(HEAD.format(mechanism) + AGE.format(size - 1) + more, users=1000)


def eigenvalues(design) -> np.ndarray:
    """lambda_f of Q' D^-1 Q by its definition, from the exact channel of one dimension."""
    law = enumerate_law(design.plan)
    channel = np.array([[float(p) for p in row] for row in law.probabilities]).T
    size = channel.shape[1]
    information = channel.T @ (channel / channel.sum(axis=1, keepdims=True))
    waves = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size)
    return np.array([(w.conj() @ information @ w).real / size for w in waves])


def test_demand_is_the_mean_energy_of_all_ranges():
    found = survey("fourier")
    (curve,) = demand_curves(found.survey.design, found.workload)
    energies = []
    for low in range(8):
        for high in range(low + 1, 9):
            query = np.zeros(8)
            query[low:high] = 1.0
            energies.append(np.abs(np.fft.fft(query)) ** 2 / 64)
    assert curve.x.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(curve.y, np.mean(energies, axis=0)[1:5], rtol=1e-12)


def test_demand_does_not_need_a_fourier_design():
    curves = [
        demand_curves(found.survey.design, found.workload)
        for found in (survey("fourier"), survey("hio"))
    ]
    np.testing.assert_allclose(curves[0][0].y, curves[1][0].y)


def test_information_is_that_of_the_exact_channel():
    design = survey("fourier").survey.design
    (curve,) = information_curves(design)
    np.testing.assert_allclose(curve.y, eigenvalues(design)[1:5], rtol=1e-9)


def test_only_fourier_designs_inform_frequencies():
    assert information_curves(survey("grr").survey.design) == ()


def test_errors_are_those_of_the_exact_channel():
    """q' X^-1 q / N less the square of the mean: the variance for records spread evenly."""
    design = survey("fourier").survey.design
    (curve,) = error_curves(design, 1000)
    known = eigenvalues(design)
    assert curve.x.tolist() == [1, 2, 3, 4, 5, 6, 7]
    for length, error in zip(curve.x, curve.y, strict=True):
        energy = np.abs(np.fft.fft(np.arange(8) < length)) ** 2 / 64
        assert error**2 * 1000 == pytest.approx(float((energy / known)[1:].sum()), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["hio", "hgrr", "grr", "olh", "oue", "ehio"])
def test_every_mechanism_has_errors_averaged_over_places(mechanism):
    design = survey(mechanism, 6, SEX).survey.design
    curves = error_curves(design, 500)
    assert [curve.dimension for curve in curves] == [0, 1]
    boxes = [Box((((start, start + 2),), None)) for start in range(5)]
    planned = [design.prepare(LinearQuery.count(box)) for box in boxes]
    expected = np.sqrt(design.variance(planned, 500).mean()) / 500
    assert curves[0].y[1] == pytest.approx(expected, rel=1e-12)
    assert curves[1].x.tolist() == [1]


def test_errors_shrink_with_the_root_of_the_people():
    design = survey("olh").survey.design
    few, many = (error_curves(design, people)[0].y for people in (100, 10_000))
    np.testing.assert_allclose(few, 10 * many)


def test_long_axes_have_few_points_with_both_ends():
    design = survey("fourier", 300).survey.design
    (curve,) = error_curves(design, 1000)
    assert len(curve.x) == MOST_LENGTHS
    assert (curve.x[0], curve.x[-1]) == (1, 299)
    assert (np.diff(curve.x) > 0).all()


def test_what_the_design_does_not_answer_is_left_out():
    asked = SEX + '[workload]\nqueries = ["SELECT COUNT(*) FROM t WHERE age < 3"]\n'
    found = survey("fourier", 8, asked)
    design = found.survey.design
    assert {c.dimension for c in demand_curves(design, found.workload)} == {0}
    assert {c.dimension for c in information_curves(design)} == {0}
    assert {c.dimension for c in error_curves(design, 1000)} == {0}
    whole = survey("fourier", 8, SEX).survey.design
    assert {c.dimension for c in error_curves(whole, 1000)} == {0, 1}
