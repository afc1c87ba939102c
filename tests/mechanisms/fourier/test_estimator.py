"""Decoding is exactly unbiased, and what one report adds is its contribution.

Error bars of one and of two reports, over the exact law of what is reported.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from support.counting import count_record
from support.fourier_designs import (
    HAND_MADE,
    channel,
    domain_of,
    elements,
    histogram,
    information_matrix,
    outputs,
    single_answers,
)

from ldpsql.algebra.boxes import Box, LinearQuery, Side, Weight
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.fourier import estimator as estimator_module
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon

DESIGNS = HAND_MADE
NAMES = list(DESIGNS)
PUBLIC = Weight("paid")


def sides_of(design: FourierDesign, which: int) -> tuple[Side, ...]:
    """A few sides per dimension, whole bins only: half of it, two pieces, the last, everything."""
    found: list[Side] = []
    for axis, size in enumerate(design.domain.sizes):
        width = design.group.width(axis)
        last = (design.group.bins[axis] - 1) * width
        choices: list[Side] = [
            ((0, last),),
            ((width, size),),
            ((0, width), (last, size)),
            ((last, size),),
            None,
        ]
        found.append(choices[(which + axis) % len(choices)])
    return tuple(found)


def queries(design: FourierDesign) -> list[LinearQuery]:
    """COUNT of boxes and of unions of boxes, SUM of every measure over boxes."""
    boxes = [Box(sides_of(design, which)) for which in range(5)]
    asked = [LinearQuery.count(box) for box in boxes]
    first = ((0, design.group.width(0)),)
    rest = ((design.group.width(0), design.domain.sizes[0]),)
    split = [Box((first, *boxes[1].sides[1:])), Box((rest, *boxes[3].sides[1:]))]
    asked.append(LinearQuery.count(*split))
    asked.append(LinearQuery(((2.0, split[0]), (-0.5, split[1]))))
    for measure in range(len(design.domain.bounds)):
        asked += [LinearQuery.sum(measure, box) for box in (*boxes, Box.whole(len(boxes[0].sides)))]
        asked.append(LinearQuery.sum(measure, *split))
    return asked


@cache
def alone(name: str) -> np.ndarray:
    """What every report alone is answered to `queries`."""
    return decoded(DESIGNS[name])


def decoded(design: FourierDesign) -> np.ndarray:
    return single_answers(design, [design.prepare(query) for query in queries(design)])


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_mean_over_all_reports_is_the_truth_for_every_record(name: str) -> None:
    """sum over reports of law x answer, for every record and query, to 1e-9."""
    design = DESIGNS[name]
    asked = queries(design)
    law = enumerate_law(design.plan)
    truths = [
        [count_record(query, record, design.domain) for query in asked] for record in law.inputs
    ]
    np.testing.assert_allclose(means(design, alone(name)), truths, atol=1e-9)


def means(design: FourierDesign, answers: np.ndarray) -> np.ndarray:
    """Of the answers, over the reports of every record."""
    chances = [[float(p) for p in row] for row in enumerate_law(design.plan).probabilities]
    return np.asarray(np.array(chances) @ answers)


@pytest.mark.fast(4)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_report_adds_is_its_contribution(name: str) -> None:
    """The FFT decode against a = X^-1 q and c = (1/s) sum of a x, solved as dense matrices."""
    design = DESIGNS[name]
    matrix = channel(design)
    known = information_matrix(matrix)
    dual = np.linalg.pinv(known, rcond=1e-9, hermitian=True)
    share = matrix.sum(axis=1)
    for query, own in zip(queries(design), alone(name).T, strict=True):
        planned = design.prepare(query)
        asked = np.array([_on(planned, design, element) for element in elements(design.group)])
        contributions = matrix @ (dual @ asked) / share
        np.testing.assert_allclose(own - planned.known, contributions, atol=1e-9)


def _on(planned: object, design: FourierDesign, element: tuple[int, ...]) -> float:
    """A planned query on an element of the group, padding among them: sides of bins."""
    total = 0.0
    for term in planned.terms:  # type: ignore[attr-defined]
        inside = term.coefficient
        for side, axis in zip(term.sides, term.axes, strict=True):
            weights = design.group.bin_weights(side, axis)
            inside *= weights[element[axis]] if element[axis] < len(weights) else 0.0
        total += inside
    factor = planned.level  # type: ignore[attr-defined]
    if planned.measure is not None:  # type: ignore[attr-defined]
        sign = element[design.group.dimensions + planned.measure]  # type: ignore[attr-defined]
        factor += planned.contrast * (2 * sign - 1)  # type: ignore[attr-defined]
    return total * factor


@pytest.mark.parametrize("name", NAMES)
def test_answers_add_up_over_reports(name: str) -> None:
    """A histogram is answered as the sum of what its reports are answered alone."""
    design = DESIGNS[name]
    planned = [design.prepare(query) for query in queries(design)]
    counts = np.random.default_rng(5).integers(0, 4, len(outputs(design)))
    answer = design.estimator(histogram(design, outputs(design), counts)).answer(planned)
    np.testing.assert_allclose(answer.values, counts @ alone(name), atol=1e-9)


def test_public_weights_multiply_what_a_report_adds() -> None:
    design = DESIGNS["boxes"]
    box = Box(sides_of(design, 0))
    weighted = LinearQuery(((1.0, box),), weight=PUBLIC)
    rows, values = outputs(design), np.random.default_rng(6).random(len(outputs(design))) * 9
    counts = np.ones(len(rows), dtype=int)
    moments = {(PUBLIC, None): values, (PUBLIC, PUBLIC): values**2}
    found = design.estimator(histogram(design, rows, counts, moments))
    answer = found.answer([design.prepare(weighted), design.prepare(LinearQuery.count(box))])
    each = single_answers(design, [design.prepare(LinearQuery.count(box))])[:, 0]
    assert answer.values == pytest.approx([values @ each, each.sum()], abs=1e-8)
    everybody = LinearQuery(((1.0, Box.whole(2)),), weight=PUBLIC)
    exact = found.answer([design.prepare(everybody)])
    assert exact.values[0] == pytest.approx(values.sum())
    assert exact.covariance[0, 0] == 0.0


def test_a_coarse_axis_shares_a_bin_evenly() -> None:
    """7 codes in bins of two: half a bin counts half of the people in it."""
    design = DESIGNS["coarse"]
    half, whole = (design.prepare(LinearQuery.count(Box((((0, n),), None)))) for n in (1, 2))
    answers = single_answers(design, [half, whole])
    np.testing.assert_allclose(answers[:, 0], answers[:, 1] / 2.0, atol=1e-12)


SPANS = ((0, 3), (1, 4), (5, 6))


@cache
def made(epsilon: str) -> FourierDesign:
    workload = Workload.everyday(domain_of((6,)), {0: "range"}, 1)
    return Fourier().design(workload.domain, Epsilon.parse(epsilon), {}, workload)


def answers(design: FourierDesign, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances of every tuple of so many reports, shapes (tuples, queries)."""
    planned = [design.prepare(LinearQuery.count(Box(((span,),)))) for span in SPANS]
    found = [
        design.estimator(histogram(design, list(rows), [1] * number)).answer(planned)
        for rows in product(outputs(design), repeat=number)
    ]
    return (
        np.array([answer.values for answer in found]),
        np.array([np.diagonal(answer.covariance) for answer in found]),
    )


def coverage(design: FourierDesign, number: int) -> float:
    """Of the intervals at 95 %, the mean over the queries, people spread evenly."""
    law = channel(design).mean(axis=1)
    chances = np.array([np.prod(own) for own in product(law, repeat=number)])
    values, variances = answers(design, number)
    truths = number * np.array([(high - low) / 6.0 for low, high in SPANS])
    assert variances.min() > -1e-5
    errors = np.sqrt(np.maximum(variances, 0.0))
    inside = np.abs(values - truths) <= quantile(0.95) * errors + 1e-9
    return float((chances @ inside).mean())


@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_a_single_report_has_an_error(epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control has a tenth of it."""
    design = made(epsilon)
    assert coverage(design, 1) > 0.95
    shrink_errors(monkeypatch)
    assert coverage(design, 1) < 0.5


def shrink_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of every variance."""
    right = estimator_module.centre
    monkeypatch.setattr(estimator_module, "centre", lambda *given: 0.01 * right(*given))
