"""Questions of one kind: the interface of those that are listed one by one (`listed`) and
of those in product form (`products`).

Whoever uses a design is written against it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Weight
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Integers,
    Numbers,
    Reals,
    Spectrum,
)
from ldpsql.reports.report import Pair, Rows

AllSpectra = Callable[[], Sequence[Spectrum]]
Spread = Callable[..., NDArray[np.complexfloating]]
"""Spectra, dense and flat over the sets of axes that it is called with, shape (k, cells)."""


MOST_ODDS = 12.5
"""Odds from which single reports weigh too much for the usual sample."""


@dataclass(frozen=True)
class MovedSpectrum:
    """The spectra over lambda of queries that are one query moved about the group.

    spectrum: of that at the beginning of every axis it can be moved along.  numbers: of the
    queries, shape (k,).  bins: by how many each is moved along every axis, shape (k, axes).
    """

    spectrum: Spectrum
    numbers: Integers
    bins: Integers


class Questions(Protocol):
    """Questions of one kind that a table holds."""

    @property
    def shares(self) -> Iterable[tuple[Axes, float]]:
        """The probability of parts of them, with the axes that these tell of."""

    def information(self) -> Iterable[tuple[Axes, Reals]]:
        """lambda of parts of them, dense over their axes; at f = 0 their probability."""

    def decode(self, sets: Sequence[Rows], pair: Pair) -> Iterable[tuple[Axes, Complexes]]:
        """Of parts of them the sums over the reports of every set of the transforms of x / s, moved
        by the phases, dense over their axes, shape (sets, *orders); people count with a product of
        weights."""

    def extremes(self, spectra: Sequence[Spectrum], known: Reals) -> Reals:
        """The least and the most that a report contributes to queries of spectra q^ / (N lambda),
        which are 0 at f = 0, shape (2, m), or what others contribute where that is more.

        known: of others, shape (2, m).
        """

    def contribute(
        self, asked: Sequence[MovedSpectrum], each: AllSpectra, reports: Rows, found: Reals
    ) -> None:
        """Add contributions of every report to every query, but for those at f = 0, to an array of
        shape (k, n). each: makes the spectra of all queries by themselves."""

    def sample(
        self, faces: frozenset[Axes], worth: Mapping[Axes, float]
    ) -> Iterable[SampledReports]:
        """Reports that stand for all that tell something about some faces.

        worth: by axes, what a share of the questions adds to the second moment of contributions.
        """


class SampledReports(Protocol):
    """Numbers of reports that stand, with others, for all that tell about some faces, by what they
    contribute to queries about these.

    A *cell* is what contributions tell apart of them.
    """

    @property
    def zero_apart(self) -> bool:
        """Whether contributions are given without those at f = 0, which everybody makes: the excess
        of reports sums up to 0 over all phases of a question, so that what is at f = 0 cancels; it
        does not where only some of the phases are looked at."""

    @property
    def cells(self) -> int:
        """How many cells there are."""

    def expect(self, people: Spread) -> Reals:
        """Expected reports beyond their mean over a question's phases, of people of one spectrum
        T^(f), and of those for which they stand, shape (cells,)."""

    def contribute(self, divided: Spread) -> Reals:
        """Contributions c to k queries of spectra q^ / (N lambda), shape (k, cells)."""

    def add_translates(
        self, first: Complexes, second: Complexes, sampled: SampledSums, moved: Axes
    ) -> None:
        """Add the spectra of `sum_pairs` (T, *orders) and (T, T, *orders) as the T queries are
        moved along some axes."""


@dataclass(frozen=True, eq=False)
class SampledSums:
    """The summands of some reports for T queries in their weights.

    kinds: the weights.  whole: what everybody contributes besides, q^(0) / N, where amounts are
    without it, else 0, shape (T,).  amounts: contributions, shape (T, cells).  excess: by pair of
    weights, how many more people than on average send each report, shape (cells,).
    divided: the queries' spectra over lambda, for whom amounts alone do not do.
    """

    kinds: Sequence[Weight | None]
    whole: Reals
    amounts: Reals
    excess: Mapping[Pair, Reals]
    divided: Spread | None = None


def sum_pairs(
    kinds: Sequence[Weight | None],
    whole: Numbers,
    amounts: Iterable[Numbers],
    total: Callable[[Pair, Numbers], Numbers],
    first: Numbers,
    second: Numbers,
) -> None:
    """Add to the sums of contributions to T queries (T, ...), and to those of products of two
    (T, T, ...), what some reports contribute.

    With c + w contributed in all, w by everybody, a product of two is (c + w) (c' + w') - w w',
    whose last term is counted elsewhere.
    whole: w, as broadcast with `amounts`; 0 where these hold it.  amounts: c of each query.
    total: sum over reports of values in a pair of weights.
    """
    both = []
    for a, (one, own) in enumerate(zip(kinds, amounts, strict=True)):
        first[a] += total((one, None), own)
        both.append(own + whole[a])
        for b, other in enumerate(kinds[: a + 1]):
            summed = total((one, other), both[a] * both[b] - whole[a] * whole[b])
            second[a, b] += summed
            if b < a:
                second[b, a] += summed
