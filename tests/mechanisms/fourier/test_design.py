"""The design as the rest of the library sees it."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_designs import HAND_MADE, asked, channel, domain_of, single_answers

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon

DESIGNS = HAND_MADE
NAMES = list(DESIGNS)


@pytest.mark.parametrize("name", NAMES)
def test_the_predicted_variance_is_the_mean_over_the_group(name: str) -> None:
    """n (E c^2 - (E c)^2), records spread evenly over the group."""
    design = DESIGNS[name]
    planned = asked(design)
    share = channel(design).mean(axis=1)
    amounts = single_answers(design, planned)
    expected = share @ amounts**2 - (share @ amounts) ** 2
    np.testing.assert_allclose(design.variance(planned, 700), 700 * expected, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_of_a_sample_the_mean_is_predicted(name: str) -> None:
    """At once, and as if each had been asked by itself."""
    design = DESIGNS[name]
    dimensions = len(design.domain.sizes)
    whole, part = Box.whole(dimensions), Box.of(dimensions, {0: ((0, 2),)})
    queries = [LinearQuery.count(part)]
    queries += [
        LinearQuery.sum(k, own) for k in range(len(design.domain.bounds)) for own in (whole, part)
    ]
    alone = design.variance([design.prepare(query) for query in queries], 700)
    found = design.expected_variances([queries, queries[:1]], 700)
    np.testing.assert_allclose(found, [alone.mean(), alone[0]], rtol=1e-9)


def test_a_channel_that_is_too_large_is_not_enumerated() -> None:
    design = Fourier().design(domain_of((64, 64)), Epsilon.parse("1"), {})
    with pytest.raises(ValueError, match="too many"):
        enumerate_law(design.plan)


def test_what_explain_says() -> None:
    design = DESIGNS["with signs"]
    count = design.prepare(LinearQuery.count(Box((((1, 4),),))))
    assert design.describe(count) == ["table x of 5 cells, box of 3"]
    total = design.prepare(LinearQuery.sum(1, Box.whole(1)))
    assert design.describe(total) == ["table everybody", "with the sign of p1"]
    known = design.prepare(LinearQuery.count(Box.whole(1)))
    assert design.describe(known) == ["known exactly: 1 x all reports"]
    assert design.describe(design.prepare(LinearQuery.count())) == []
