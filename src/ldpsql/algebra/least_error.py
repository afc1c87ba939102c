"""The least error that any mechanism can have, for a workload and an epsilon.

Over N kinds of records let G be the mean of q q' over a workload's queries q and E = e^epsilon.
With T = max over k of k (N - k) (E - 1)^2 / (k E + N - k)^2 every epsilon-LDP survey whose answers
are linear and unbiased has, averaged over evenly spread records, a second moment per person of at
least

    1'G1 / N^2 + (sum of roots of the eigenvalues of P G P)^2 / (T N),    P = 1 - 11'/N.

It says nothing of the worst records or of biased answers, and is loose for large epsilon. Sources:
docs/spec/rr-optimum.md#2.3 (after McKenna, Maity, Mazumdar, Miklau, VLDB 2020);
docs/spec/fourier.md#1.3 and docs/spec/fourier.md#2.5.

Of a measure nothing is known but its bounds, so it counts as spread evenly between them: in half of
their distance, about their middle, its mean square is 1/3. Kinds of records are infinitely many
then, and T has its limit (E - 1)^2 / (4 E). Sums of a single measure are bounded more closely
(`ldpsql.algebra.sums_and_counts`). No query asks two of k measures, so in an orthogonal basis only
k + 1 patterns occur: no measure, and each measure alone. Source: docs/spec/fourier.md#7.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from ldpsql.algebra.boxes import codes_of
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.sums_and_counts import information_of_sums, information_with_sums
from ldpsql.algebra.workload import (
    OF_LEVELS,
    DeclaredQuery,
    Kind,
    QueryClass,
    Workload,
    count_levels,
    gram,
)
from ldpsql_device.epsilon import Epsilon

BOUND_BELOW = 3.0
"""From this epsilon on the bounds are loose, and a distance from them says nothing."""
EXACT_CELLS = 2000
MEAN_SQUARE = 1.0 / 3.0
"""Of numbers spread evenly between -1 and 1."""
_MOST_ROOTS = 1 << 16
_ROUNDING, _ROUNDING_OF_SHARES = 1e-14, 1e-9
_STEP = 0.25
_NODES = np.arange(-24.0, 24.0, _STEP)


def spectral_bound(workload: Workload, epsilon: Epsilon) -> float | None:
    """The least mean variance per person of any mechanism; None for a domain too large for it.

    The people count as a sample, as everywhere in this library. Exact for a single class of queries
    (by interlacing, so a little lower, above _MOST_ROOTS cells), and up to EXACT_CELLS cells, the
    signs of measures included.
    """
    asked = {entry.measure for entry in workload.classes}
    asked |= {query.measure for query in workload.queries if query.contrast}
    measures = len(asked - {None})
    if not measures:  # where only people are counted, what else a record holds is of no use
        return sign_bound(workload, epsilon)
    limits = [Limit(1.0, MEAN_SQUARE, limit_of_information(epsilon))]
    if measures == 1:
        limits += (Limit(1.0, *own) for own in information_with_sums(epsilon))
        limits.append(Limit(0.0, 1.0, information_of_sums(epsilon)))
    return _bound(workload, limits)


def sign_bound(workload: Workload, epsilon: Epsilon) -> float | None:
    """The same among mechanisms that round every measure to one of its bounds."""
    kinds = math.prod(workload.domain.sizes) * 2 ** len(workload.domain.bounds)
    return _bound(workload, [Limit(1.0, 1.0, most_information(kinds, epsilon))])


@dataclass(frozen=True)
class Limit:
    """At most so much information does a report tell of counts and sums with these weights."""

    counts: float
    sums: float
    information: float

    def least(self, counts: float, sums: float, codes: int) -> float:
        """A bound from sums of roots of eigenvalues."""
        roots = math.sqrt(self.counts) * counts + math.sqrt(self.sums) * sums
        return roots**2 / (self.information * codes)


def _bound(workload: Workload, limits: Sequence[Limit]) -> float | None:
    """By whichever of several gives the largest."""
    sizes, signs = workload.domain.sizes, 2 ** len(workload.domain.bounds)
    codes = math.prod(sizes)
    if len(workload.classes) == 1 and not workload.queries:
        [entry] = workload.classes
        roots = _sum_of_roots_of_class(entry, sizes)
        by_target = (roots, 0.0) if entry.measure is None else (0.0, roots)
    elif codes * signs <= EXACT_CELLS:
        blocks = pattern_gram(workload)
        # P G P with P = 1 - 11'/N: the constant lies in the pattern without signs.
        blocks[0] -= blocks[0].mean(axis=0)
        blocks[:, :, 0] -= blocks[:, :, 0].mean(axis=2, keepdims=True)
        by_target = _sums_of_roots(blocks)
        if blocks[0, :, 1:].any():  # some query counts and sums at once
            best = max(limits, key=lambda own: own.least(*by_target, codes))
            scale = np.sqrt([best.counts, *(best.sums for _ in blocks[1:])])
            blocks *= scale[:, None, None, None] * scale[:, None]
            whole = float(_roots(blocks.reshape(scale.size * codes, -1)).sum())
            return whole**2 / (best.information * codes)
    else:
        return None
    # A pattern has as many times the eigenvalues of its block as there are kinds per combination.
    return max(own.least(*by_target, codes) for own in limits)


def share_of_totals(workload: Workload) -> float:
    """How much a workload's mean variance grows with that of the sum of a measure over everybody,
    in half of the distance of its bounds and about their middle."""
    share = sum(c.weight for c in workload.classes if c.measure is not None and not c.predicates)
    for query in workload.queries:
        if query.measure is not None and not (query.constrained or query.is_square):
            share += query.weight * (query.contrast * sum(factor for factor, _ in query.terms)) ** 2
    return share


def limit_of_information(epsilon: Epsilon) -> float:
    """T for infinitely many kinds of records, which is more than for any number of them."""
    odds = float(epsilon.odds)
    return (odds - 1.0) ** 2 / (4.0 * odds)


def most_information(cells: int, epsilon: Epsilon) -> float:
    """T of the module's docstring: its terms over k rise up to k = N / (E + 1) and then fall."""
    if cells == 1:
        return math.inf
    odds = float(epsilon.odds)
    near = int(cells / (odds + 1.0))
    sets = (min(max(k, 1), cells - 1) for k in (near, near + 1))
    return max(k * (cells - k) * (odds - 1.0) ** 2 / (k * odds + cells - k) ** 2 for k in sets)


# -- roots of eigenvalues, without the factor of the signs ----------------------------------------


def pattern_gram(workload: Workload) -> Array:
    """Mean of q q' over a workload's queries, shape (patterns, cells, patterns, cells); without
    those of squares.

    Pattern 0 is what a query counts whatever the signs, pattern 1 + m what it adds for a positive
    sign of measure m and takes off for a negative one.
    """
    cells = math.prod(workload.domain.sizes)
    patterns = 1 + len(workload.domain.bounds)
    blocks = np.zeros((patterns, cells, patterns, cells))
    for entry in workload.classes:
        pattern = 0 if entry.measure is None else 1 + entry.measure
        # A class's Gram is the Kronecker product of those of the axes.
        product: Array = np.ones((1, 1))
        for axis in _axis_grams(entry, workload.domain.sizes):
            product = np.asarray(np.kron(product, axis))
        blocks[pattern, :, pattern] += entry.weight * product
    queries = [query for query in workload.queries if not query.is_square]
    if queries:
        # Each declared query as one row, the root of its weight times what it counts by pattern
        # and cell: the weighted sum of q q' is then a product of matrices.
        rows = np.zeros((len(queries), patterns, cells))
        for row, query in zip(rows, queries, strict=True):
            amounts = math.sqrt(query.weight) * amounts_of(query, workload.domain.sizes).ravel()
            row[0] = query.level * amounts
            if query.measure is not None:
                row[1 + query.measure] = query.contrast * amounts
        joint = rows.reshape(len(rows), patterns * cells)
        blocks += (joint.T @ joint).reshape(blocks.shape)
    return blocks


def _sums_of_roots(blocks: Array) -> tuple[float, float]:
    """Of counts, and of the sums of all measures, where no query asks both."""
    counts, *sums = (float(_roots(own[:, p]).sum()) for p, own in enumerate(blocks))
    return counts, sum(sums)


def _axis_grams(entry: QueryClass, sizes: tuple[int, ...]) -> list[Array]:
    """The Gram of a class on every axis, where it has no predicate that of everything."""
    kinds = dict(entry.predicates)
    return [gram(kinds[i], m) if i in kinds else np.ones((m, m)) for i, m in enumerate(sizes)]


def amounts_of(query: DeclaredQuery, sizes: tuple[int, ...]) -> Array:
    """The amount that a person in each cell counts, shape of the domain."""
    total = np.zeros(sizes)
    for share, sides in query.terms:
        axes = []
        for side, size in zip(sides, sizes, strict=True):
            inside = np.zeros(size)
            for low, high in codes_of(side, size):
                inside[low:high] = 1.0
            axes.append(inside)
        total += share * reduce(np.multiply.outer, axes, np.ones(()))
    return total


def _sum_of_roots_of_class(entry: QueryClass, sizes: Sequence[int]) -> float:
    """For one class, whose eigenvalues are products of those of its axes."""
    kinds = dict(entry.predicates)
    axes = [_roots_of_axis(kinds.get(i), size) for i, size in enumerate(sizes)]
    total = math.prod(float(roots.sum()) for roots, _ in axes)
    if entry.measure is not None:
        return math.sqrt(entry.weight) * total  # a sum about the middle has no constant part
    if math.prod(len(roots) for roots, _ in axes) > _MOST_ROOTS:
        # Taking out the constant lowers the sum of roots by no more than the largest (interlacing).
        removed = math.prod(float(roots.max()) for roots, _ in axes)
    else:
        outer = np.multiply.outer
        removed = _root_of_constant(
            reduce(outer, [roots for roots, _ in axes], np.ones(())).ravel() ** 2,
            reduce(outer, [shares for _, shares in axes], np.ones(())).ravel(),
        )
    return math.sqrt(entry.weight) * (total - removed)


def _root_of_constant(values: Array, shares: Array) -> float:
    """By how much the roots of G's eigenvalues sum to more than those of P G P, P = 1 - 11'/N.

    values: the eigenvalues above 0.  shares: the part of the constant, with norm 1, that lies in
    the direction of each; what they leave of 1 lies where G is 0.
    """
    # With f(s) = sum of shares / (values + s), det(P G P + s) without the constant's own direction
    # is det(G + s) f(s). As sqrt(x) = (1/pi) int x / (x + s) s^(-1/2) ds, the difference of the
    # sums of roots is (1/pi) int (1 + s f'(s) / f(s)) s^(-1/2) ds, whose brackets are the sum of
    # shares values / (values + s)^2 over f. In u = log sqrt(s) the integrand is analytic and falls
    # off on both sides, so a sum over even steps is exact to rounding.
    scale = float(values.max())
    if scale <= 0.0:
        return 0.0
    total, left = 0.0, 1.0 - float(shares.sum())
    left = left if left > _ROUNDING_OF_SHARES else 0.0
    for node in _NODES.tolist():
        shift = math.exp(2.0 * node)
        shifted = values / scale + shift
        parts = shares / shifted
        whole = float(parts.sum()) + left / shift
        total += math.exp(node) * float((parts * values / shifted).sum()) / whole / scale
    return math.sqrt(scale) * total * _STEP * 2.0 / math.pi


@lru_cache(maxsize=1024)
def _roots_of_axis(kind: Kind | None, size: int) -> tuple[Array, Array]:
    """Roots of the eigenvalues of one axis's Gram that are not 0, and which part of the constant
    lies in the direction of each; without a predicate the Gram is all ones."""
    if kind is None:
        return np.array([math.sqrt(size)]), np.ones(1)
    if kind == "equality":
        return np.full(size, size**-0.5), np.full(size, 1.0 / size)
    if kind in OF_LEVELS:
        counted = count_levels(kind, size)
        square = float(counted @ counted)
        return np.array([math.sqrt(square)]), np.array([float(counted.sum()) ** 2 / square / size])
    # Up to a factor both Grams are inverses of second differences, whose eigenvectors are sines:
    # with both ends held for ranges, and with one end free for prefixes.
    number = np.arange(1.0, size + 1.0)
    if kind == "range":
        half = number * math.pi / (2.0 * (size + 1))
        sums = np.where(number % 2 == 1, 1.0 / np.tan(half), 0.0)
        return math.sqrt(0.5 / size) / np.sin(half), sums**2 * 2.0 / ((size + 1) * size)
    half = (2.0 * number - 1.0) * math.pi / (2.0 * (2 * size + 1))
    sums = np.sin(size * half) * np.sin((size + 1) * half) / np.sin(half)
    return size**-0.5 / (2.0 * np.sin(half)), sums**2 * 4.0 / ((2 * size + 1) * size)


def _roots(matrix: Array) -> Array:
    """Roots of the eigenvalues, ascending."""
    # What rounding makes of a zero, 1e-16 of the largest, would have a root of 1e-8 of it.
    values = np.linalg.eigvalsh(matrix)
    return np.sqrt(np.where(values > _ROUNDING * values[-1], values, 0.0))
