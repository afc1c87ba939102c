"""Error bars of one and of two reports, over the exact law of what is reported."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from support.fourier_designs import channel, domain_of, histogram, outputs

from ldpsql.boxes import Box, LinearQuery
from ldpsql.estimate import quantile
from ldpsql.mechanisms.fourier import direct, estimator
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.mechanism import Fourier
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon

SPANS = ((0, 3), (1, 4), (5, 6))


@cache
def made(epsilon: str) -> FourierDesign:
    workload = Workload.everyday(domain_of((6,)), {0: "range"}, 1)
    return Fourier().design(workload.domain, Epsilon.parse(epsilon), {}, workload)


def answers(design: FourierDesign, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and variances of every tuple of so many reports, shapes (tuples, queries)."""
    planned = [design.plan(LinearQuery.count(Box(((span,),)))) for span in SPANS]
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
    """Its contribution alone has no spread: the negative control is without the people added."""
    design = made(epsilon)
    assert coverage(design, 1) > 0.95
    monkeypatch.setattr(estimator, "PEOPLE", 0.0)
    assert coverage(design, 1) < 0.5


def test_two_reports_have_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for two, which may well say the same thing."""
    design = made("3")
    assert coverage(design, 2) > 0.95
    monkeypatch.setattr(estimator, "PEOPLE", 0.0)
    assert coverage(design, 2) < 0.6


def test_what_is_added_is_what_people_from_an_even_spread_contribute() -> None:
    """Their covariance over the law, for counts that overlap."""
    design = made("1")
    planned = [design.plan(LinearQuery.count(Box(((span,),)))) for span in SPANS]
    law = channel(design).mean(axis=1)
    single = [histogram(design, [row], [1]) for row in outputs(design)]
    amounts = np.array([design.estimator(own).answer(planned).values for own in single])
    means = law @ amounts
    exact = amounts.T @ (amounts * law[:, None]) - np.outer(means, means)
    found = direct.SharedContributions(design.collected).expected(planned)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)
