"""PrivNUD: Wang, Wang, Wang, Nie, Wei, Tang, Gu, Yu (ICDE 2023), whose program is public; of one
dimension.

A tree whose nodes each have the fan-out that answers ranges best; people are allotted along paths,
as in `pripl`. A node is a leaf if, by its estimate, splitting it costs more than spreading its
share evenly; the people who are left are asked about it again. Levels are made non-negative, then
the tree consistent by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.field.oracles import People, oue_of, oue_variance
from benchmarks.field.pripl import Node, cover_questions
from benchmarks.field.questions import Floats, Question
from ldpsql.numerics import project_on_simplex

_FANOUTS = range(2, 21)


def split(node: Node, fanout: int) -> list[Node]:
    """Children of one length, the last one perhaps shorter."""
    length = math.ceil((node.high - node.low + 1) / fanout)
    starts = range(node.low, node.high + 1, length)
    return [Node(low, min(low + length - 1, node.high)) for low in starts]


def uses(node: Node, parent: Node, codes: int) -> int:
    """Ranges that hold a node, but not its parent."""
    return (node.low + 1) * (codes - node.high) - (parent.low + 1) * (codes - parent.high)


def best_fanout(node: Node, parent: Node | None, codes: int) -> tuple[int, list[int], int]:
    """The fan-out with the least error of the subtree if all of its nodes had that fan-out; and how
    often ranges use the nodes of its first level, in all and at most for one node."""
    errors: dict[int, float] = {}
    details: dict[int, tuple[list[int], int]] = {}
    length = node.high - node.low + 1
    for fanout in _FANOUTS:
        if length < fanout:
            break
        height = _log(length, fanout) + (parent is not None)
        error = float(uses(node, parent, codes) * height) if parent is not None else 0.0
        level, depth, per_level, most = [node], int(parent is not None), list[int](), 0
        while True:
            depth += 1
            below = [
                (one, child) for one in level if one.low < one.high for child in split(one, fanout)
            ]
            if not below:
                break
            used = [uses(child, one, codes) for one, child in below]
            for (_, child), count in zip(below, used, strict=True):
                is_leaf = child.low == child.high
                error += count * height / (height - depth + 1 if is_leaf else 1.0)
            per_level.append(sum(used))
            most = most or max(used)
            level = [child for _, child in below]
        errors[fanout], details[fanout] = error, (per_level, most)
    best = min(errors, key=lambda fanout: errors[fanout])
    return best, *details[best]


def _log(length: int, fanout: int) -> int:
    """The least h with fanout^h >= length."""
    height = 0
    while fanout**height < length:
        height += 1
    return height


def grow(counts: Floats, epsilon: float, random: np.random.Generator) -> Node:
    """The tree of one survey, with estimated shares."""
    people, codes = int(counts.sum()), len(counts)
    order, root = People.shuffle(counts, random), Node(0, codes - 1, share=1.0)
    fanout, _, _ = best_fanout(root, None, codes)
    todo = [(root, child, 0) for child in split(root, fanout)]
    root.children = [child for _, child, _ in todo]
    while todo:
        parent, node, start = todo.pop()
        count, fanout, used, most = people - start, 0, list[int](), 0
        if node.low < node.high:
            fanout, used, most = best_fanout(node, parent, codes)
            count = (people - start) // (_log(node.high - node.low + 1, fanout) + 1)
        node.asked = slice(start, start + count)
        node.share = float(oue_of(*order.within(node.asked, node.low, node.high), epsilon, random))
        if not fanout:
            continue
        own, left = uses(node, parent, codes), slice(start + count, people)
        if _is_split(node.share, own, used[0], most, fanout, epsilon, count, people - start):
            node.children = split(node, fanout)
            todo += [(node, child, start + count) for child in node.children]
        else:
            again = oue_of(*order.within(left, node.low, node.high), epsilon, random)
            node.share = float(node.share * count + again * (people - start - count))
            node.share /= people - start
            node.asked = slice(start, people)
    return root


def _is_split(
    share: float,
    own: int,
    below: int,
    most: int,
    fanout: int,
    epsilon: float,
    asked: int,
    left: int,
) -> bool:
    """Whether noise in the children costs less than spreading the share evenly over them."""
    with_children = (own + below) * oue_variance(epsilon, asked)
    worst, usual = (share - share / fanout) ** 2, (share / fanout) ** 2
    alone = own * oue_variance(epsilon, left) + (below - most) * usual + most * worst
    return alone >= with_children


def consistent(root: Node, codes: int) -> Floats:
    """Shares of the codes: levels without negative nodes, then least squares; the share of a leaf
    is spread evenly over its codes."""
    parents = [root]
    while parents:
        level = [child for parent in parents for child in parent.children]
        total = sum(parent.share for parent in parents)
        fixed = np.zeros(len(level))
        if total > 0.0:
            fixed = project_on_simplex(np.array([[node.share for node in level]]), total)[0]
        for node, share in zip(level, fixed.tolist(), strict=True):
            node.share = share
        parents = [node for node in level if node.children]
    nodes = list(root.walk())
    leaves = sorted((n for n in nodes if not n.children), key=lambda node: node.low)
    lows, highs = (np.array([getattr(leaf, end) for leaf in leaves]) for end in ("low", "high"))
    design = np.array(
        [(lows >= node.low) & (highs <= node.high) for node in nodes[1:]], dtype=float
    )
    # The root's share is known: its row weighs a thousand others.
    weights = np.append(np.ones(len(design)), 1e3)
    rows = np.vstack([design, np.ones(len(leaves))]) * weights[:, None]
    wanted = np.append([node.share for node in nodes[1:]], 1.0) * weights
    shares = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    lengths = highs - lows + 1
    return np.repeat(shares / lengths, lengths)


@dataclass(frozen=True)
class PrivNud:
    """The mechanism."""

    name: str = "PrivNUD"
    biased: bool = True

    def refuses(self, sizes: Sequence[int]) -> str:
        """Why the mechanism cannot be used for these codes, or an empty text."""
        return "one dimension only, here" if len(sizes) > 1 else ""

    def estimate(self, counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
        """See `ranges.Method`."""
        return consistent(grow(counts, epsilon, random), len(counts))

    def questions(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> list[Question]:
        """See `ranges.Method`: those of one survey."""
        nodes = list(grow(counts, epsilon, random).walk())[1:]
        return list(cover_questions(nodes, len(counts), 1.0, epsilon))
