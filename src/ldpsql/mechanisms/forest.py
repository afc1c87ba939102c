"""Runs at the collector. Sees reports. Estimates from nodes picked on a path.

A report of a frame names a node that is uniform on the sender's path of L nodes (whatever
epsilon, see `lgrr`) and `fakes` nodes uniform over the Gamma nodes of the forest. With c the
number of times that a node is named among n reports,

    unbiased   f = L (c - n fakes / Gamma) / n
    published  f = L (c - n q / K - n fakes / Gamma) / (n (p - q)),   p, q = e, 1 over e + L - 1,

K being the number of nodes of the node's level combination. The expectation of the published one
is f + L (f - 1/K) / (e - 1). Specification: h4mda, sections 8 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import Alternative, CellQuery
from ldpsql.mechanisms.doubt import doubted, scatter_of
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.report import Pair


@dataclass(frozen=True)
class Forest:
    """All nodes of one frame.

    groups: its level combinations, one node of each lies on a path.  sizes: their nodes.
    fakes: fake nodes per report.  odds: e^epsilon.
    """

    groups: tuple[int, ...]
    sizes: tuple[int, ...]
    fakes: int
    odds: float

    @property
    def nodes(self) -> int:
        """Gamma."""
        return sum(self.sizes)

    @property
    def length(self) -> int:
        """L, the nodes of a path."""
        return len(self.groups)

    @cached_property
    def starts(self) -> Codes:
        """First node of each level combination, shape (L,)."""
        return np.cumsum([0, *self.sizes[:-1]]).astype(np.int64)

    @cached_property
    def even(self) -> Array:
        """1 / K of every node, shape (Gamma,)."""
        return np.repeat(1.0 / np.array(self.sizes), self.sizes)


@dataclass(frozen=True)
class Reading:
    """How an estimate follows from the unbiased frequency f: (f - baseline) / scale."""

    scale: float
    baseline: Array


def as_named(forest: Forest) -> Reading:
    """The unbiased frequency as it is."""
    return Reading(1.0, np.zeros(forest.nodes))


def as_published(forest: Forest) -> Reading:
    """Corrected for a randomization that the report does not show."""
    spread = forest.odds + forest.length - 1.0
    return Reading((forest.odds - 1.0) / spread, forest.length / spread * forest.even)


class Named(Protocol):
    """Unbiased node frequencies by frame; see `levels_estimator.Frequencies`."""

    @property
    def people(self) -> float:
        """Number of people."""
        ...

    def total(self, weight: Weight | None) -> float:
        """Sum of a weight over all people."""
        ...

    def size(self, frame: int) -> float:
        """People in a frame."""
        ...

    def mean(self, frame: int, pair: Pair) -> float:
        """Mean of u v over the people of a frame."""
        ...

    def all(self, frame: int, pair: Pair) -> Array:
        """Frequencies of all nodes, shape (Gamma,)."""
        ...

    def doubt(self, frame: int, pair: Pair) -> float:
        """What people to be doubted add to the mean of u v in a variance; see `doubt`."""
        ...


@dataclass(kw_only=True)
class ReportedForest(ReportedRows):
    """From a histogram, frame by frame; remembers what it has computed."""

    forests: Sequence[Forest]
    _found: dict[tuple[int, Pair], Array] = field(default_factory=dict)

    def all(self, frame: int, pair: Pair) -> Array:
        """Estimated frequencies of all nodes, shape (Gamma,)."""
        if (frame, pair) not in self._found:
            forest = self.forests[frame]
            rows = self.rows(frame)
            moment = rows.moment(*pair)
            named = sum(
                np.bincount(column, moment, minlength=forest.nodes) for column in rows.columns
            )
            fakes = forest.fakes / forest.nodes * self.mean(frame, pair)
            share = np.asarray(named) / self.size(frame)
            self._found[frame, pair] = forest.length * (share - fakes)
        return self._found[frame, pair]


@dataclass(frozen=True)
class EvenForest:
    """Everybody spread evenly over all records and frames, weights 1."""

    table: GroupTable
    forests: Sequence[Forest]
    people: float

    def total(self, weight: Weight | None) -> float:
        """The number of people."""
        return self.people

    def size(self, frame: int) -> float:
        """Frames are equally likely."""
        return self.people / len(self.forests)

    def mean(self, frame: int, pair: Pair) -> float:
        """Weights are taken to be 1."""
        return 1.0

    def all(self, frame: int, pair: Pair) -> Array:
        """The part of all records at each node."""
        forest = self.forests[frame]
        parts = [
            self.table.even(group, np.arange(size))
            for group, size in zip(forest.groups, forest.sizes, strict=True)
        ]
        return np.concatenate(parts)

    def doubt(self, frame: int, pair: Pair) -> float:
        """None: these frequencies are not estimated."""
        return 0.0


Entry = tuple[int, Codes, Array]


@dataclass(frozen=True)
class ForestEstimator:
    """Answers cell queries from the frequencies of all frames."""

    table: GroupTable
    forests: Sequence[Forest]
    named: Named
    reading_of: Callable[[Forest], Reading]

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where a needed frame has no reports."""
        k = len(queries)
        values = np.array([q.known * self.named.total(q.weight) for q in queries], dtype=float)
        covariance = np.zeros((k, k))
        pieces: dict[int, list[Entry]] = {}
        for number, query in enumerate(queries):
            parts = [self._places(alternative) for alternative in query.alternatives]
            shares = self._shares(parts)
            if query.is_asked and shares is None:
                values[number], covariance[number, number] = np.nan, np.inf
                continue
            for share, (frame, places, weights) in zip(shares or (), parts, strict=True):
                if share:
                    pieces.setdefault(frame, []).append((number, places, weights * share))
        for frame, entries in sorted(pieces.items()):
            asked = np.array([number for number, _, _ in entries])
            kinds = [queries[number].weight for number in asked]
            part = self._frame(frame, entries, kinds)
            values[asked] += part.values
            covariance[np.ix_(asked, asked)] += part.covariance
        return Estimates(values, covariance)

    @cached_property
    def _readings(self) -> list[Reading]:
        return [self.reading_of(forest) for forest in self.forests]

    @cached_property
    def _place(self) -> dict[int, tuple[int, int]]:
        """group -> (frame, first node)."""
        return {
            group: (frame, int(start))
            for frame, forest in enumerate(self.forests)
            for group, start in zip(forest.groups, forest.starts, strict=True)
        }

    def _places(self, alternative: Alternative) -> Entry:
        """The frame of an alternative, its distinct forest nodes and their weights."""
        frame = self._place[alternative[0].group][0]
        named = [self._place[cells.group][1] + cells.nodes for cells in alternative]
        places, position = np.unique(np.concatenate(named), return_inverse=True)
        weights = np.concatenate([cells.weights for cells in alternative])
        merged = np.bincount(position, weights, minlength=len(places))
        return frame, places, merged.astype(np.float64)

    def _shares(self, parts: Sequence[Entry]) -> list[float] | None:
        """Weights of independent answers by inverse variance predicted for people spread evenly;
        None if none is usable."""
        spread = np.array([self._predicted(*part) for part in parts])
        if not parts or not np.isfinite(spread).any():
            return None
        precision = 1.0 / np.maximum(spread, np.finfo(float).tiny)
        return [float(share) for share in precision / precision.sum()]

    def _predicted(self, frame: int, places: Codes, weights: Array) -> float:
        forest, size = self.forests[frame], self.named.size(frame)
        if not size:
            return float(np.inf)
        true = float(np.sum(weights**2 * forest.even[places])) * forest.length
        fake = forest.fakes * forest.length**2 * float(np.sum(weights**2)) / forest.nodes
        return (true + fake) / self._readings[frame].scale ** 2 / size

    def _frame(
        self, frame: int, entries: Sequence[Entry], kinds: Sequence[Weight | None]
    ) -> Estimates:
        """The contribution of one frame, on the scale of all people."""
        reading, named = self._readings[frame], self.named
        places, position = np.unique(np.concatenate([e[1] for e in entries]), return_inverse=True)
        owners = np.repeat(np.arange(len(entries)), [len(e[1]) for e in entries])
        weights = np.zeros((len(entries), len(places)))
        weights[owners, position] = np.concatenate([e[2] for e in entries])
        means = np.array(
            [
                row @ named.all(frame, (kind, None))[places]
                for row, kind in zip(weights, kinds, strict=True)
            ]
        )
        covariance = np.zeros((len(entries), len(entries)))
        for left in set(kinds):
            for right in set(kinds):
                rows = [i for i, kind in enumerate(kinds) if kind == left]
                columns = [i for i, kind in enumerate(kinds) if kind == right]
                second = self._second(frame, places, (left, right), weights[rows], weights[columns])
                covariance[np.ix_(rows, columns)] = second
        limit = np.array(
            [
                self._energy(frame, places, kind, row[None])[0]
                for row, kind in zip(weights, kinds, strict=True)
            ]
        )
        # E[Y]^2 is at most E[Y^2], which is L times the energy where there are no fakes.
        likely = _within(means, np.sqrt(self.forests[frame].length * limit))
        covariance -= np.outer(likely, likely)
        baseline = weights @ reading.baseline[places]
        levels = np.array([named.mean(frame, (kind, None)) for kind in kinds])
        people = named.people
        return Estimates(
            people * (means - baseline * levels) / reading.scale,
            covariance * people**2 / named.size(frame) / reading.scale**2,
        )

    def _second(self, frame: int, places: Codes, pair: Pair, left: Array, right: Array) -> Array:
        """E[Y Y'] per report, Y = t L (w at the named nodes - its mean over the fakes)."""
        forest, length = self.forests[frame], self.forests[frame].length
        mean, at = self.named.mean(frame, pair), self.named.all(frame, pair)[places]
        first, last = pair
        limit = np.sqrt(
            np.outer(
                self._energy(frame, places, first, left), self._energy(frame, places, last, right)
            )
        )
        true = _within((left * at) @ right.T, limit)
        doubt = partial(self.named.doubt, frame)
        true += doubt(pair) * doubted(left, right)
        mean += scatter_of(doubt, pair)
        spread = left @ right.T - np.outer(left.sum(axis=1), right.sum(axis=1)) / forest.nodes
        return np.asarray(length * true + length**2 * forest.fakes / forest.nodes * mean * spread)

    def _energy(self, frame: int, places: Codes, kind: Weight | None, weights: Array) -> Array:
        """E[t^2 w^2] summed over a path, per query; noise may push it below nothing."""
        energy = weights**2 @ self.named.all(frame, (kind, kind))[places]
        return np.asarray(np.maximum(energy, 0.0))


def _within(values: Array, limit: Array) -> Array:
    return np.clip(values, -limit, limit)
