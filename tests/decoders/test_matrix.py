"""A channel as a matrix says the same as one that is solved without."""

from __future__ import annotations

import numpy as np
import pytest
from support.histograms import histogram_of
from support.sensitive_domains import made, matrix

from ldpsql.decoders.cells import MatrixChannel
from ldpsql.report import Rows
from ldpsql.simulation import SeededEntropy


@pytest.mark.parametrize(
    ("name", "sizes", "held"),
    [
        ("urr", (7,), (3,)),
        ("cprr", (3, 4), (2, 2)),
        ("jurr", (3, 4), (2, 1)),
        ("jurr", (3, 2, 3), (1, 1, 3)),
        ("jurr-g", (3, 4), (2, 2)),
        ("tdrr", (3, 4), (3, 2)),
        ("jd-grr", (3, 4), (3, 4)),
    ],
)
def test_a_square_channel_has_one_inverse(name, sizes, held):
    design = made(name, sizes, held, "2.5")
    plain, solved = MatrixChannel(matrix(design).T), design.channel
    random = np.random.default_rng(4)
    cells = random.integers(0, solved.cells, 900)
    codes = np.stack(np.unravel_index(cells, sizes), axis=1)
    rows = histogram_of(design.randomize(codes, SeededEntropy(2))).load(0)
    totals = solved.totals(rows, (None, None))
    counts = solved.counts(rows, (None, None)).astype(int)
    by_cell = Rows((np.arange(solved.cells),), counts)
    assert plain.totals(by_cell, (None, None)) == pytest.approx(totals)
    left, right = random.normal(size=(2, 3, solved.cells))
    people = np.abs(totals)
    expected = solved.second(people, left, right)
    assert plain.second(people, left, right) == pytest.approx(expected)
    assert plain.spread(left) == pytest.approx(solved.spread(left))
