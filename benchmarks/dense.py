"""Best linear unbiased variances of the classical mechanisms, from dense matrices.

Everything is per query and per person, over records spread evenly; the number of people is known.
Source: McKenna, Maity, Mazumdar, Miklau, VLDB 2020; docs/spec/rr-optimum.md#2.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.workload import Kind, gram

Matrix = NDArray[np.float64]
FANOUTS = (2, 4, 8)
_STEPS, _GAP = 2000, 1e-5


def workload_gram(kinds: Sequence[Kind], sizes: Sequence[int]) -> Matrix:
    """Mean of q q' over products of predicates, shape (N, N) with N the product of the sizes."""
    return reduce(np.kron, (gram(kind, size) for kind, size in zip(kinds, sizes, strict=True)))


def best_classical(sizes: Sequence[int], grams: Matrix, odds: float) -> tuple[str, float]:
    """The name and the variance of the best of GRR, OUE and the hierarchies."""
    flat = np.arange(int(np.prod(sizes)))
    found = {
        "GRR": _variance([_grr(flat, odds)], np.ones(1), grams),
        "OUE": _variance([_oue(flat, odds)], np.ones(1), grams),
    }
    for fanout in FANOUTS:
        parts = [max((_grr(p, odds), _oue(p, odds)), key=np.trace) for p in _levels(sizes, fanout)]
        found[f"hierarchy {fanout}"] = _optimal(parts, grams)
    name = min(found, key=lambda key: found[key])
    return name, found[name]


def flat_variances(sizes: Sequence[int], grams: Matrix, odds: float) -> tuple[float, float]:
    """Variance of GRR and of OUE over all cells."""
    cells = np.arange(int(np.prod(sizes)))
    grr, oue = _grr(cells, odds), _oue(cells, odds)
    return _variance([grr], np.ones(1), grams), _variance([oue], np.ones(1), grams)


def uniform_hierarchy(
    sizes: Sequence[int], grams: Matrix, odds: float, fanout: int
) -> tuple[float, float]:
    """Variance of a hierarchy whose people are spread evenly over its levels, all by OUE, and by
    the better of GRR and OUE on each level."""
    levels = list(_levels(sizes, fanout))
    even = np.full(len(levels), 1.0 / len(levels))
    unary = [_oue(level, odds) for level in levels]
    best = [max((_grr(p, odds), own), key=np.trace) for p, own in zip(levels, unary, strict=True)]
    return _variance(unary, even, grams), _variance(best, even, grams)


def _levels(sizes: Sequence[int], fanout: int) -> Iterator[NDArray[np.int64]]:
    """Per level combination but that of all roots the node of every record, shape (N,)."""
    axes = []
    for size in sizes:
        widths = [1]
        while widths[-1] < size:
            widths.append(widths[-1] * fanout)
        axes.append([np.arange(size) // width for width in widths])
    for nodes in product(*axes):
        flat = np.zeros(1, dtype=np.int64)
        for own in nodes:
            flat = np.add.outer(flat * (int(own[-1]) + 1), own).ravel()
        if flat[-1]:
            yield flat


def _grr(node: NDArray[np.int64], odds: float) -> Matrix:
    """Information of the records about themselves when each reports its node by GRR."""
    nodes = int(node[-1]) + 1
    channel = np.where(np.arange(nodes)[:, None] == node, odds, 1.0) / (odds + nodes - 1)
    return np.asarray(channel.T @ (channel / channel.sum(axis=1, keepdims=True)))


def _oue(node: NDArray[np.int64], odds: float) -> Matrix:
    """The same by OUE; the constant feature stands for the known number of people."""
    nodes = int(node[-1]) + 1
    means = np.where(np.arange(nodes)[:, None] == node, 0.5, 1.0 / (odds + 1.0))
    features = np.vstack([np.ones(len(node)), means])
    second = features @ features.T / len(node)
    second[np.diag_indices(nodes + 1)] = [1.0, *means.mean(axis=1)]
    return np.asarray(features.T @ np.linalg.solve(second, features)) / len(node)


def _variance(parts: Sequence[Matrix], weights: Matrix, grams: Matrix) -> float:
    return float(np.trace(_inverse(parts, weights) @ grams) - np.trace(grams)) / len(grams)


def _inverse(parts: Sequence[Matrix], weights: Matrix) -> Matrix:
    return np.linalg.inv(np.tensordot(weights, np.asarray(parts), axes=1))


def _optimal(parts: Sequence[Matrix], grams: Matrix) -> float:
    """The variance at the A-optimal weights, by multiplicative updates."""
    weights = np.full(len(parts), 1.0 / len(parts))
    for _ in range(_STEPS):
        inverse = _inverse(parts, weights)
        slope = inverse @ grams @ inverse
        gains = np.array([np.sum(slope * part) for part in parts])
        total = float(weights @ gains)
        if gains.max() <= total * (1.0 + _GAP):
            break
        weights = weights * np.sqrt(gains / total)
        weights /= weights.sum()
    return _variance(parts, weights, grams)
