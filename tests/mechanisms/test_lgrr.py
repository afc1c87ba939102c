"""LGRR and LGRR-FD as published, and the repair: vectors, bias, what they give away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import tiers
from support.node_sources import N, true_nodes
from support.repeated_surveys import Repeated

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.linear import CellQuery, EvenSource, GroupCells, LinearEstimator
from ldpsql.estimators.nodes import NodeDesign
from ldpsql.mechanisms.lgrr.recipe import Forest, LgrrDesign, PublishedEstimator
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

MEASURED = RecordDomain(("x1", "x2"), (125, 125), ("x2",), ((1.0, 125.0),), (1,))
LINE = RecordDomain(("x",), (4,), ("x",), ((0.0, 3.0),), (0,))


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "epsilon", "published", "unbiased_count"),
    [
        ("lgrr", "1", 172_201, 52_360),
        ("lgrr", "2", 84_590, 52_360),
        ("lgrr-fd", "1", 251_867, 52_342),
        ("lgrr-fd", "2", 106_003, 52_342),
    ],
)
def test_expectations_of_the_specification(
    name: str, epsilon: str, published: float, unbiased_count: float
) -> None:
    """Section 13: COUNT of [12, 56) in the signed frame of the second attribute."""
    design = mechanism(name).design(MEASURED, Epsilon.parse(epsilon), {})
    assert isinstance(design, LgrrDesign)
    assert design.answers[0].path == (12 if name == "lgrr" else 20)
    planned = design.prepare(LinearQuery.count(Box((((12, 56),), None))))
    table, forests = design.table, design.answers

    def true_shares(group: int, nodes: np.ndarray) -> np.ndarray:
        """Of the specification's data, signs by their expectation."""
        parts = [true_nodes(table, number, (1,)) for number in forests[group].groups]
        return np.concatenate(parts)[nodes]

    source = EvenSource(float(N), np.full(1, float(N)), forests, true_shares)
    for estimator, expected in (
        (PublishedEstimator(source, forests), published),
        (LinearEstimator(source), unbiased_count),
    ):
        assert estimator.answer([planned]).values[0] == pytest.approx(expected, rel=2e-4)


def test_estimates_of_one_node() -> None:
    """Section 9: 40 of 1,000 reports name a node of ten, path of 12, epsilon 2."""
    forest = Forest.of(0, range(12), (10,) * 12, 0, float(np.exp(2)))
    source = EvenSource(
        1000.0, np.full(1, 1000.0), [forest], lambda _, nodes: np.full(len(nodes), 12 * 40 / 1000)
    )
    node = GroupCells(0, np.zeros(1, dtype=np.int64), np.ones(1))
    query = CellQuery(0.0, True, ((node,),), None)
    found = [
        estimator.answer([query]).values[0]
        for estimator in (LinearEstimator(source), PublishedEstimator(source, [forest]))
    ]
    assert found == pytest.approx([480, 1193.72], abs=5e-3)


@pytest.mark.fast(5)
@pytest.mark.parametrize(
    ("name", "dimensions", "fakes", "epsilon", "delta"),
    [
        *(("lgrr", 1, 0, epsilon, 2 / 3) for epsilon in ("0.5", "1", "2")),
        *(("lgrr", 2, 0, epsilon, 5 / 6) for epsilon in ("0.5", "1", "2")),
        *(("lgrr-fd", 1, 0, epsilon, 0.75) for epsilon in ("1", "2")),
        *(("lgrr-fd", 1, 1, *own) for own in (("0.5", 0.568), ("1", 0.55), ("2", 0.55))),
        *(("lgrr-fd", 1, 2, *own) for own in (("0.5", 0.446), ("1", 0.406), ("2", 0.403))),
    ],
)
def test_what_the_channel_gives_away(
    name: str, dimensions: int, fakes: int, epsilon: str, delta: float
) -> None:
    """Sections 8 and 9: signed binary trees of four codes; epsilon hardly matters, and not at all
    to LGRR, and fakes do not repair it."""
    domain = replace(LINE, names=("x", "y")[:dimensions], sizes=(4,) * dimensions)
    options = {"fanout": 2, **({"fakes": fakes} if name == "lgrr-fd" else {})}
    design = mechanism(name).design(domain, Epsilon.parse(epsilon), options)
    law = enumerate_law(design.plan)
    found = float(law.divergence(design.epsilon.odds))
    assert found == pytest.approx(delta, abs=1e-9 if name == "lgrr" else 1e-3)
    assert law.worst().odds is None


def test_a_path_without_anything_but_roots_is_refused() -> None:
    """LGRR has no leaves; of two codes nothing is left, of four a binary tree's upper level."""
    plain = RecordDomain(("x",), (2,), (), (), ())
    with pytest.raises(SurveyError, match="three codes"):
        mechanism("lgrr").design(plain, Epsilon.parse("1"), {})
    four = RecordDomain(("x",), (4,), (), (), ())
    design = mechanism("lgrr").design(four, Epsilon.parse("1"), {})
    assert isinstance(design, LgrrDesign)
    assert design.table.sizes == (1, 2)
    assert design.witness is not None


# -- the repair ----------------------------------------------------------------------------------


def test_the_repair_draws_views_in_proportion() -> None:
    """Section 9b: the signed plane of 4 x 4 codes, Z = 125.619382 at epsilon 1."""
    domain = RecordDomain(("x", "y"), (4, 4), ("y",), ((0.0, 3.0),), (1,))
    design = mechanism("lgrr-repaired").design(domain, Epsilon.parse("1"), {"fanout": 2})
    assert isinstance(design, NodeDesign)
    assert (len(design.table.groups), sum(design.table.sizes)) == (12, 105)
    index, shares = design.table.index, design.table.shares
    wanted = {
        ((0, 0), None): 0.0216390320,
        ((0, 2), 0): 0.0773629171,
        ((1, 2), 0): 0.1410473571,
        ((2, 2), 0): 0.2684162373,
    }
    for (levels, sign), share in wanted.items():
        assert shares[index[levels, sign, 0]] == pytest.approx(share, abs=1e-9)


# -- statistics ----------------------------------------------------------------------------------

PEOPLE, RUNS = 2_000, tiers.runs(300)
SKEWED = RecordDomain(("x", "y"), (8, 4), ("x",), ((0.0, 7.0),), (0,))


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", ["lgrr", "lgrr-fd"])
def test_the_published_estimator_is_biased_as_predicted(name: str) -> None:
    """f + L (f - 1/K) / (e - 1) for the published one, f for the other, with honest variance."""
    design = mechanism(name).design(SKEWED, Epsilon.parse("1"), {"fanout": 2})
    assert isinstance(design, LgrrDesign)
    random = np.random.default_rng(5)
    x = np.minimum(random.geometric(0.35, PEOPLE) - 1, 7)
    y = random.integers(0, 4, PEOPLE)
    box, inside = Box((((0, 4),), ((0, 2),))), (x < 4) & (y < 2)
    planned = [design.prepare(q) for q in (LinearQuery.count(box), LinearQuery.sum(0, box))]

    def draw(seed: int) -> np.ndarray:
        signs = np.random.default_rng([seed, 1]).random(PEOPLE) < x / 7
        return np.stack([x, y, signs.astype(np.int64)], axis=1)

    default, found = next(iter(design.estimators)), Repeated.of(design, planned, draw, RUNS)
    assert default == ("by_share" if name == "lgrr" else "unbiased")
    assert found.is_unbiased([inside.sum(), x[inside].sum()])
    assert found.varies_as_told()
    published = Repeated.of(design, planned[:1], draw, RUNS, design.estimators["published"])
    even = PEOPLE / 4  # half of x by half of y
    bias = design.answers[0].path * (inside.sum() - even) / (np.e - 1)
    assert published.is_unbiased([inside.sum() + bias])
    assert not published.is_unbiased([inside.sum()])


def test_leaves_by_share_are_explained() -> None:
    """Eight of 125 codes from one and a half parents: the bias is told, nodes are listed once."""
    line = RecordDomain(("x",), (125,), (), (), ())
    design = mechanism("lgrr").design(line, Epsilon.parse("1"), {})
    lines = design.describe(design.prepare(LinearQuery.count(Box((((3, 11),),)))))
    assert lines[-1] == "leaves answered from parents, by their share of codes"
    assert lines[0].endswith("nodes 0..2")
    other = mechanism("lgrr-fd").design(line, Epsilon.parse("1"), {})
    assert "leaves" not in other.describe(other.prepare(LinearQuery.count(Box((((3, 11),),)))))[-1]
