"""PriPL-Tree: Wang, Ye, Hu, Meng (VLDB 2024), whose program is public as well.

A fifth of the people report by the square wave. A continuous piecewise linear function is fitted to
their histograms (first EM's, then the smoothed one), one breakpoint after the other. Its segments
are the leaves of a tree, whose inner nodes are left out where ranges are then answered better. The
other people report by OUE which nodes hold them, and every path from the root is covered by all of
them. Leaves and nodes are averaged with weights by their variances, children are made to add up to
their parents without negative shares, and slopes are limited so that no code has a negative share.

With several attributes, half of the people are asked for a tree of each attribute, the others for a
grid of each pair. The lines of a grid are those of the trees, with more where there are many people
and fewer where there are few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np

from benchmarks.field.grids import Grid, agree, fit
from benchmarks.field.oracles import People, deal, oue, oue_of, oue_variance
from benchmarks.field.questions import Floats, Integers, Question, Table, Unary
from benchmarks.field.square_wave import fit as expectation_maximization
from benchmarks.field.square_wave import square_wave
from ldpsql.numerics import project_on_simplex

_FIRST, _MOST_SEGMENTS, _CHANGE, _GRID_ERROR = 0.2, 32, 1e-3, 0.04


@dataclass(eq=False)
class Node:
    """Codes low to high. variance: of the share so far."""

    low: int
    high: int
    children: list[Node] = field(default_factory=list)
    share: float = 0.0
    variance: float = 0.0
    asked: slice = field(default_factory=lambda: slice(0))

    @property
    def height(self) -> int:
        """Levels of the tree below and with this node."""
        return 1 + max((child.height for child in self.children), default=0)

    def walk(self) -> Iterator[Node]:
        """Itself, then all below; children before parents if reversed."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Tree:
    """The histogram of a line from one survey of its people."""

    codes: int
    root: Node
    leaves: list[Node]
    slopes: Floats

    def table(self) -> Floats:
        """Shares of the codes."""
        shares = np.zeros(self.codes)
        for leaf, slope in zip(self.leaves, self.slopes, strict=True):
            length = leaf.high - leaf.low + 1
            steepest = 2.0 * leaf.share / (length * (length - 1)) if length > 1 else 0.0
            middle = np.arange(length) - (length - 1) / 2
            limited = float(np.clip(slope, -steepest, steepest))
            shares[leaf.low : leaf.high + 1] = leaf.share / length + limited * middle
        return shares


# -- the segments ----------------------------------------------------------------------------------


def fit_line(histogram: Floats, breaks: Sequence[int]) -> tuple[Floats, Floats]:
    """The continuous function that is linear between the breaks, by least squares: slopes, and the
    squares of what is left, per code. A break b lies between the codes b and b + 1."""
    codes = np.arange(len(histogram), dtype=float)
    ends = np.array([0.0, *(b + 0.5 for b in breaks), len(histogram) - 1.0])
    spans = np.diff(ends)
    design = np.column_stack([np.ones_like(codes), np.clip(codes[:, None] - ends[:-1], 0.0, spans)])
    found = np.linalg.lstsq(design, histogram, rcond=None)[0]
    return found[1:], (design @ found - histogram) ** 2


def find_segments(
    jagged: Floats, smooth: Floats, people: float, epsilon: float
) -> tuple[list[int], Floats]:
    """Breaks in order, and the slope of every segment."""
    least, breaks = math.sqrt(oue_variance(epsilon, people)), list[int]()
    for histogram, most in ((jagged, _MOST_SEGMENTS // 2), (smooth, _MOST_SEGMENTS)):
        _, left = fit_line(histogram, breaks)
        last = left.sum()
        while len(breaks) + 1 < most:
            bounds = [-1, *breaks, len(histogram) - 1]
            pairs = [(low + 1, high) for low, high in pairwise(bounds)]
            pairs = [
                (low, high)
                for low, high in pairs
                if high > low and smooth[low : high + 1].sum() >= least
            ]
            if not pairs:
                break
            low, high = max(pairs, key=lambda pair: left[pair[0] : pair[1] + 1].sum())
            tried = {
                b: fit_line(histogram, sorted([*breaks, b]))[1] for b in _candidates(low, high)
            }
            best = min(tried, key=lambda b: tried[b].sum())
            breaks, left = sorted([*breaks, best]), tried[best]
            now = left.sum()
            if now <= 0.0 or round(last / now, 2) <= 1.0:
                break
            last = now
    return breaks, fit_line(smooth, breaks)[0]


def _candidates(low: int, high: int) -> range:
    """Breaks within a segment, some 128 of them at most as in the paper's search."""
    return range(low, high, max(1, (high - low) // 128))


# -- the tree --------------------------------------------------------------------------------------


def build(breaks: Sequence[int], codes: int) -> tuple[Node, list[Node]]:
    """A balanced binary tree over the segments, without the nodes that raise the error; and its
    leaves."""
    bounds = [-1, *breaks, codes - 1]
    leaves = [Node(a + 1, b) for a, b in pairwise(bounds)]
    level = leaves
    while len(level) > 1:
        cuts = list(range(0, len(level) - len(level) % 2, 2))
        groups = [level[cut : cut + 2] for cut in cuts]
        if len(level) % 2:
            groups[-1] = [*groups[-1], level[-1]]
        level = [Node(group[0].low, group[-1].high, group) for group in groups]
    root = level[0] if level[0].children else Node(0, codes - 1, leaves)
    _drop(root, root, codes)
    return root, leaves


def _drop(root: Node, parent: Node, codes: int) -> None:
    """Children first: drop an inner node if the expected error of ranges is less without it."""
    for child in list(parent.children):
        if not child.children:
            continue
        _drop(root, child, codes)
        with_it, place = expected_error(root, codes), parent.children.index(child)
        parent.children[place : place + 1] = child.children
        if expected_error(root, codes) >= with_it:
            parent.children[place : place + len(child.children)] = [child]


def expected_error(root: Node, codes: int) -> float:
    """The sum over nodes of how often a range uses one over its share of the people."""
    total, stack = 0.0, [(root, child, 1.0) for child in root.children]
    while stack:
        parent, node, left = stack.pop()
        own = left / node.height
        uses = _covered(node, codes) - _covered(parent, codes)
        total += uses / own
        stack += [(node, child, left - own) for child in node.children]
    return total


def _covered(node: Node, codes: int) -> int:
    """How many ranges hold it."""
    return (node.low + 1) * (codes - node.high)


def allot(root: Node, start: int, stop: int) -> None:
    """Which of the people are asked about each node."""
    for child in root.children:
        count = math.ceil((stop - start) / child.height)
        child.asked = slice(start, start + count)
        allot(child, start + count, stop)


def grow(counts: Floats, epsilon: float, random: np.random.Generator) -> Tree:
    """A survey of the people of a line."""
    people, codes = int(counts.sum()), len(counts)
    order = People.shuffle(counts, random)
    first = int(people * _FIRST)
    matrix = square_wave(epsilon, codes).matrix
    early = np.bincount(order.codes[:first], minlength=codes) / first
    reports = random.multinomial(first, matrix @ early)
    jagged, smooth = (
        expectation_maximization(reports, matrix, smooth=way, change=_CHANGE)
        for way in (False, True)
    )
    breaks, slopes = find_segments(jagged, smooth, people, epsilon)
    root, leaves = build(breaks, codes)
    allot(root, first, people)
    for node in root.walk():
        if node is not root:
            held, asked = order.within(node.asked, node.low, node.high)
            node.share = float(oue_of(held, asked, epsilon, random))
            node.variance = oue_variance(epsilon, asked)
    _average(root, smooth)
    root.share = 1.0
    _spread(root)
    return Tree(codes, root, leaves, slopes)


def _average(root: Node, smooth: Floats) -> None:
    """Leaves with the early histogram, others with the sum of their children."""
    for node in reversed(list(root.walk())):
        if node is root:
            continue
        if node.children:
            other = sum(child.share for child in node.children)
            variance = sum(child.variance for child in node.children)
        else:
            other = float(smooth[node.low : node.high + 1].sum())
            away = (other - node.share) ** 2
            variance = min(away - node.variance if away > node.variance else away, other**2)
        both = node.variance + variance
        if both > 0.0:
            node.share = (variance * node.share + node.variance * other) / both
            node.variance = node.variance * variance / both


def _spread(root: Node) -> None:
    """From above: children add up to their parent, none below 0."""
    for node in root.walk():
        if node.children:
            shares = np.array([[child.share for child in node.children]])
            fixed = project_on_simplex(shares, node.share)[0] if node.share > 0 else shares[0] * 0
            for child, share in zip(node.children, fixed.tolist(), strict=True):
                child.share = share


# -- grids of pairs --------------------------------------------------------------------------------


def adapt_lines(
    own: Floats, starts: Integers, other: Floats, noise: float, deviation: float
) -> Integers:
    """More lines where there are many people, fewer where there are few: first codes of the cells
    of an axis.

    own: shares of its codes. other: shares of the other axis's cells. noise: variance of a cell.
    deviation: the square root of it.
    """
    codes, squares = len(own), float(np.square(other).sum())
    running = np.concatenate([[0.0], np.cumsum(own)])
    lines, settled = sorted(starts.tolist()), set[int]()

    def is_worth(left: float, right: float) -> bool:
        """Whether two cells are better than one."""
        gain = _GRID_ERROR * squares * ((left + right) ** 2 - left**2 - right**2)
        return gain > noise * len(other)

    while open_ := [line for line in lines if line not in settled]:
        ends = dict(zip(lines, [*lines[1:], codes], strict=True))
        low = max(open_, key=lambda line: running[ends[line]] - running[line])
        cuts = [
            cut
            for cut in range(low + 1, ends[low])
            if min(running[cut] - running[low], running[ends[low]] - running[cut]) >= deviation
        ]
        halves = {c: (running[c] - running[low], running[ends[low]] - running[c]) for c in cuts}
        best = min(cuts, key=lambda c: halves[c][0] ** 2 + halves[c][1] ** 2, default=None)
        if best is not None and is_worth(*halves[best]):
            lines = sorted([*lines, best])
        else:
            settled.add(low)
    merged = True
    while merged and len(lines) > 2:
        merged = False
        sums = np.diff(running[[*lines, codes]])
        place = int(np.argmin(sums[:-1] + sums[1:]))
        left, right = float(sums[place]), float(sums[place + 1])
        if max(left, right) < deviation or not is_worth(left, right):
            del lines[place + 1]
            merged = True
    return np.array(lines)


@dataclass(frozen=True)
class PriPl:
    """The mechanism."""

    name: str = "PriPL-Tree"
    biased: bool = True

    def refuses(self, sizes: Sequence[int]) -> str:
        """Nothing."""
        return ""

    def estimate(self, counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
        """See `ranges.Method`."""
        if counts.ndim == 1:
            return grow(counts, epsilon, random).table()
        trees, grids, held = self._collect(counts, epsilon, random)
        lines = [
            Grid((axis,), (np.array([leaf.low for leaf in tree.leaves]),))
            for axis, tree in enumerate(trees)
        ]
        shares = [np.array([leaf.share for leaf in tree.leaves]) for tree in trees]
        found = [*shares, *held]
        agree([*lines, *grids], found)
        for tree, fixed in zip(trees, found, strict=False):
            for leaf, share in zip(tree.leaves, fixed.tolist(), strict=True):
                leaf.share = share
        single = [Grid((axis,), (np.arange(size),)) for axis, size in enumerate(counts.shape)]
        numbers = [grid.number(counts.shape) for grid in (*single, *grids)]
        wanted = [
            *(tree.table() for tree in trees),
            *(cells.ravel() for cells in found[len(trees) :]),
        ]
        return fit(counts.shape, numbers, wanted, 1 / counts.sum())

    def _collect(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> tuple[list[Tree], list[Grid], list[Floats]]:
        axes, pairs = range(counts.ndim), list(combinations(range(counts.ndim), 2))
        early, late = deal(counts, 2, random)
        trees = []
        for axis, own in zip(axes, deal(early.astype(float), counts.ndim, random), strict=True):
            line = own.sum(axis=tuple(a for a in axes if a != axis)).astype(float)
            trees.append(grow(line, epsilon, random))
        noise = oue_variance(epsilon, counts.sum() / 2 / len(pairs))
        grids, held = [], []
        for two, own in zip(pairs, deal(late.astype(float), len(pairs), random), strict=True):
            starts = [np.array([leaf.low for leaf in trees[a].leaves]) for a in two]
            for place in (0, 1):
                other = trees[two[1 - place]].table()
                cells = np.add.reduceat(other, starts[1 - place])
                starts[place] = adapt_lines(
                    trees[two[place]].table(), starts[place], cells, noise, math.sqrt(noise)
                )
            grid = Grid(two, tuple(starts))
            grids.append(grid)
            number = grid.number(counts.shape)
            cells = np.bincount(number, own.ravel(), math.prod(grid.shape)).astype(np.int64)
            held.append(oue(cells, epsilon, random).reshape(grid.shape))
        return trees, grids, held

    def questions(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> list[Question]:
        """See `ranges.Method`: those of one survey."""
        if counts.ndim == 1:
            return tree_questions(grow(counts, epsilon, random), epsilon)
        trees, grids, _ = self._collect(counts, epsilon, random)
        found = []
        for axis, tree in enumerate(trees):
            code = np.indices(counts.shape)[axis].ravel()
            found += [
                Question(one.weight / 2 / len(trees), one.cells[code], one.response)
                for one in tree_questions(tree, epsilon)
            ]
        for grid in grids:
            way = Unary(math.prod(grid.shape), epsilon)
            found.append(Question(0.5 / len(grids), grid.number(counts.shape), way))
        return found


def tree_questions(tree: Tree, epsilon: float) -> list[Question]:
    """Early people answer by the square wave; the others about nodes that cover the line."""
    early = Question(_FIRST, np.arange(tree.codes), Table(square_wave(epsilon, tree.codes).matrix))
    nodes = [node for node in tree.root.walk() if node is not tree.root]
    if not nodes:
        return [early]
    return [early, *cover_questions(nodes, tree.codes, 1.0 - _FIRST, epsilon)]


def cover_questions(
    nodes: Sequence[Node], codes: int, weight: float, epsilon: float
) -> Iterator[Question]:
    """One question per part of the people that is asked about the same nodes, by OUE."""
    ends = sorted({end for node in nodes for end in (node.asked.start, node.asked.stop)})
    for start, stop in pairwise(ends):
        own = sorted(
            (n for n in nodes if n.asked.start <= start and stop <= n.asked.stop),
            key=lambda node: node.low,
        )
        cells = np.full(codes, len(own))  # a code that none of them holds sets no bit of its own
        for number, node in enumerate(own):
            cells[node.low : node.high + 1] = number
        share = weight * (stop - start) / (ends[-1] - ends[0])
        size = len(own) + bool((cells == len(own)).any())
        yield Question(share, cells, Unary(size, epsilon))
