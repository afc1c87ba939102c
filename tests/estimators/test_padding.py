"""Consistent inference on trees with padding, against dense least squares over the padded codes.

Nodes that hold no code are not reported; they enter as nodes where nobody was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.node_sources import GivenNodes, moments_of
from support.repeated_surveys import Repeated
from support.significance import variance_fits

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.consistent import ConsistentDesign, ConsistentEstimator
from ldpsql.estimators.groups import LevelGroup
from ldpsql.estimators.linear import LinearEstimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon

BOUNDS = (2.0, 10.0)


@dataclass(frozen=True)
class Dense:
    """Least squares over all padded cells (codes, then a sign where there is a measure)."""

    design: ConsistentDesign
    given: GivenNodes

    @cached_property
    def cells(self) -> np.ndarray:
        codes = [range(tree.widths[0]) for tree in self.design.table.trees]
        signs = [range(2) for _ in self.design.domain.bounds]
        return np.array(list(product(*codes, *signs)))

    def _place(self, group: LevelGroup) -> tuple[np.ndarray, np.ndarray]:
        """Padded node of every cell in a group, and its number among those reported, or -1."""
        padded = np.zeros(len(self.cells), dtype=np.int64)
        own, real = padded.copy(), np.ones(len(padded), dtype=bool)
        signed = [] if group.sign is None else [(self.cells[:, -1], 2, 2)]
        axes = [
            (codes // tree.widths[j], tree.widths[0] // tree.widths[j], tree.counts[j])
            for codes, tree, j in zip(
                self.cells.T, self.design.table.trees, group.levels, strict=False
            )
        ]
        for node, everywhere, reported in (*signed, *axes):
            padded, own = padded * everywhere + node, own * reported + node
            real &= node < reported
        return padded, np.where(real, own, -1)

    @cached_property
    def shares(self) -> np.ndarray:
        """Estimated share of people in every padded cell, 1 together."""
        rows, told, precision = [], [], []
        for number, group in enumerate(self.design.table.groups):
            size = self.design.table.sizes[number]
            variance = self.given.given[number].contrast_variance(size)
            padded, own = self._place(group)
            for node in np.unique(padded):
                inside = padded == node
                place = own[inside][0]
                rows.append(inside.astype(float))
                told.append(0.0 if place < 0 else self.given.values[number][place])
                precision.append(self.given.sizes[number] / variance)
        matrix, weights = np.array(rows), np.array(precision)[:, None]
        normal, ones = matrix.T @ (weights * matrix), np.ones((matrix.shape[1], 1))
        system = np.block([[normal, ones], [ones.T, np.zeros((1, 1))]])
        right = np.append(matrix.T @ (weights[:, 0] * np.array(told)), 1.0)
        return np.linalg.lstsq(system, right, rcond=None)[0][:-1]

    def answer(self, box: Box, *, total: bool) -> float:
        """COUNT or SUM; a side that ends at the last code holds the padding too."""
        inside = np.ones(len(self.cells), dtype=bool)
        for codes, side, tree in zip(
            self.cells.T, box.sides, self.design.table.trees, strict=False
        ):
            if side is not None:
                ((low, high),) = side
                inside &= (codes >= low) & (codes < (tree.widths[0] if high == tree.size else high))
        amounts = np.array(BOUNDS)[self.cells[:, -1]] if total else np.ones(len(self.cells))
        return float(np.sum(self.shares * inside * amounts))


def cases() -> list[tuple[str, tuple[int, ...], int, str, tuple[int | None, ...]]]:
    """Mechanism, codes, fan-out, tree, and the dimension that is the measure."""
    shapes: list[tuple[tuple[int, ...], int]] = [((7,), 3), ((5,), 4), ((4, 6), 3), ((5, 3), 4)]
    return [
        (name, sizes, fanout, tree, measured)
        for name in ("hio", "ahio", "ehio", "hgrr")
        for sizes, fanout in shapes
        for tree in ("balanced", "padded")
        for measured in ((), (0,), (None,))
        if not (name == "hio" and measured)
    ]


@pytest.mark.fast(15)
@pytest.mark.parametrize(("name", "sizes", "fanout", "tree", "measured"), cases())
def test_equal_to_dense_least_squares(
    name: str, sizes: tuple[int, ...], fanout: int, tree: str, measured: tuple[int | None, ...]
) -> None:
    """Random frequencies, groups of random size; every fourth box, COUNT and SUM."""
    count = len(measured)
    domain = RecordDomain(
        ("x", "y")[: len(sizes)], sizes, ("m",) * count, (BOUNDS,) * count, measured
    )
    options: dict[str, Any] = {"fanout": fanout, "tree": tree, "inference": "consistent"}
    options |= {} if name == "hgrr" else {"oracle": "grr"}
    design = mechanism(name).design(domain, Epsilon.parse("1"), options)
    assert isinstance(design, ConsistentDesign)
    random = np.random.default_rng(4)
    given = GivenNodes(
        [float(size) for size in random.integers(50, 200, len(design.table.groups))],
        [random.random(size) for size in design.table.sizes],
        moments_of(design),
    )
    dense = Dense(design, given)
    sides = [
        [None, *(((low, high),) for low in range(size) for high in range(low + 1, size + 1))]
        for size in sizes
    ]
    boxes = [Box(chosen).normal(sizes) for chosen in product(*sides)]
    asked = [(LinearQuery.count(box), box) for box in boxes[::4] if not box.is_whole]
    asked += [(LinearQuery.sum(0, box), box) for box in boxes[::4] if measured]
    direct = LinearEstimator(given)
    found = ConsistentEstimator(design.table, direct).answer([design.prepare(q) for q, _ in asked])
    expected = [dense.answer(box, total=query.measure is not None) for query, box in asked]
    assert found.values == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", ["hgrr", "ahio", "hi", "lgrr-fd"])
@pytest.mark.parametrize("tree", ["balanced", "padded"])
def test_predictions_spread_people_over_records(name: str, tree: str) -> None:
    """The last node of a level has fewer codes than others, and fewer people."""
    domain = RecordDomain(("x", "y"), (5, 3), ("m",), (BOUNDS,), (None,))
    options = {"fanout": 4, "tree": tree}
    design: Any = mechanism(name).design(domain, Epsilon.parse("1"), options)
    table = design.table
    records = np.array(list(product(range(5), range(3), range(2))))
    expected = []
    for group, size in enumerate(table.sizes):
        node = table.node(group, records)
        expected.append(np.bincount(node, minlength=size) / len(records))
        assert table.spread_evenly(group, np.arange(size)) == pytest.approx(expected[-1])
    if name == "lgrr-fd":
        found = design.even_shares(0, np.arange(design.answers[0].nodes))
        assert found == pytest.approx(np.concatenate(expected))


def test_an_answer_that_padding_makes_lopsided_is_predicted() -> None:
    """One level of 125 and 5 codes: nearly everybody is in the first node, not every second one."""
    domain = RecordDomain(("x",), (130,), (), (), ())
    options = {"tree": "padded"}

    def draw(seed: int) -> np.ndarray:
        return np.random.default_rng([seed, 1]).integers(0, 130, (1_000, 1))

    for name in ("hgrr", "lgrr-repaired"):
        design = mechanism(name).design(domain, Epsilon.parse("4"), options)
        planned = design.prepare(LinearQuery.count(Box((((0, 125),),))))
        found = Repeated.of(design, [planned], draw, 200)
        predicted = design.variance([planned], 1_000)[0]
        assert variance_fits(found.values[:, 0], predicted)
        # The negative control: as if every second person were there, which is 2.2 errors for one.
        assert not variance_fits(found.values[:, 0], 4.8 * predicted)
