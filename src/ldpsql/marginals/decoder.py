"""Answers from marginals, and conjunctions that were not collected, by maximum entropy.

Of a box on m attributes the marginals tell how many people are inside on some sets of them. Among
all tables of inside and outside, 2 x ... x 2, that agree with that, the one of most entropy is
taken: it adds no interaction that nothing was collected about. Iterative proportional fitting
finds it. Sources: Zhang et al. (CALM), CCS 2018; docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.algebra.numerics import central_slopes, fit_marginals
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import spectrum
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import Bias, Codes, Estimators, JointEstimator, SmoothingEstimator
from ldpsql.estimators.cells import find_cells
from ldpsql.estimators.linear import (
    Alternative,
    CellQuery,
    GroupCells,
    LinearEstimator,
    ReportedSource,
    describe_known,
    list_nodes,
    merge_entries,
    split_known,
)
from ldpsql.estimators.linear_design import LinearDesign
from ldpsql.estimators.nodes import OracleAnswer, answers_of
from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.group import parts_of, spread_faces
from ldpsql.reports.report import Histogram, Histograms
from ldpsql.shuffle.accountant import largest_local
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.shuffled import Central

if TYPE_CHECKING:
    from ldpsql.mechanisms.fourier.projection import Block

BIAS = (
    "a conjunction that was not collected is fitted to its parts that were, as if there were no "
    "other interaction between the attributes, and the error bar holds the noise of the parts only"
)
CONSISTENT = (
    "marginals are made consistent where they share attributes, and non-negative, and a "
    "conjunction that was not collected is fitted to them"
)
LARGEST_FIT = 10
"""Attributes of a conjunction that is fitted."""
LARGEST_MARGINAL = 1 << 24
MOST_SMOOTHED, MOST_HASHED = 1 << 16, 1 << 13
"""Cells of all marginals, and those that are found by hashing, up to which `smooth` is offered."""

Axes = tuple[int, ...]
Boxes = Sequence[tuple[float, Box]]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Fit:
    """One box, times a coefficient, as what is known of it.

    attributes: how many the box constrains.  subsets: of these, by their place, those that were
    collected together.  queries: the people inside the box on the attributes of each subset.
    """

    coefficient: float
    attributes: int
    subsets: tuple[Axes, ...]
    queries: tuple[CellQuery, ...]

    @property
    def is_collected(self) -> bool:
        """Whether the attributes of the box were all collected together."""
        return len(self.subsets[0]) == self.attributes


@dataclass(frozen=True, eq=False)
class FittedQuery(CellQuery):
    """A query that no marginals answer, and what they tell of it.

    refusal: what to say where that is not wanted.
    """

    fits: tuple[Fit, ...]
    refusal: UnsupportedSQL


# -- estimators ------------------------------------------------------------------------------------


class MarginalAnswer(OracleAnswer):
    """A cell of a marginal by an oracle, weighed for people spread evenly."""

    def spread(self, cells: GroupCells) -> float:
        """Predicted variance of what one report contributes, for people spread evenly.

        Unlike the leading term of `Answer.spread` it holds who was asked, which is most of the
        error where budgets are large. With w the weights of N nodes, E[Y^2] = same sum w^2 +
        every (sum w)^2 + 2 cross (sum w)^2 / N + own sum w^2 / N and E[Y] = sum w / N.
        """
        total, squares = float(cells.weights.sum()), float(np.sum(cells.weights**2))
        second = (self.moments.same + self.moments.own / self.nodes) * squares
        second += (self.moments.every + 2.0 * self.moments.cross / self.nodes) * total**2
        return second - (total / self.nodes) ** 2


@dataclass(frozen=True)
class UnbiasedEstimator(LinearEstimator):
    """Of what was collected; UnsupportedSQL for what can only be fitted."""

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        _require_collected(rows)
        return super().answer_rows(rows)

    def values(self, queries: Sequence[CellQuery]) -> Array:
        """The values (k,) alone."""
        _require_collected([queries])
        return super().values(queries)


def _require_collected(rows: Sequence[Sequence[CellQuery]]) -> None:
    for row in rows:
        for query in row:
            if isinstance(query, FittedQuery):
                raise query.refusal


@dataclass(frozen=True)
class MaxEntEstimator(JointEstimator[CellQuery]):
    """Fits what was not collected; the rest is answered as by the unbiased estimator."""

    collected: LinearEstimator

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k): that of the parts, carried over by the slopes of the
        fit. NaN and inf where a needed marginal has no reports."""
        values, slopes, collected, _ = self._linearise(queries)
        is_unknown = ~np.isfinite(np.diagonal(collected.covariance))
        is_lost = (slopes[:, is_unknown] != 0.0).any(axis=1) | ~np.isfinite(values)
        slopes[:, is_unknown] = 0.0
        noise = np.where(is_unknown[:, None] | is_unknown[None, :], 0.0, collected.covariance)
        covariance = slopes @ noise @ slopes.T
        values[is_lost], covariance[is_lost, is_lost] = np.nan, np.inf
        return Estimates(values, covariance)

    def influence(self, queries: Sequence[CellQuery], slopes: Array) -> Array:
        """The effect of one more report, shape (2, m); of fitted answers by the slopes of the fit,
        which is of degree 1 in its parts and the number of people together."""
        values, of_parts, collected, parts = self._linearise(queries)
        rest = (values - of_parts @ np.nan_to_num(collected.values)) / self.collected.source.people
        return self.collected.influence(parts, slopes @ of_parts) + slopes @ rest

    def values(self, queries: Sequence[CellQuery]) -> Array:
        """The values alone, without the slopes of the fit."""
        fits = self._fits(queries)
        values, parts = self._known(queries), self.part_values(_parts_of(fits))
        for number, fit, own in in_time(_places(fits)):
            values[number] += self._value(fit, parts[own])
        return values

    def part_values(self, parts: Sequence[CellQuery]) -> Array:
        """Of what was collected, shape (parts,)."""
        return self.collected.values(parts)

    def _linearise(
        self, queries: Sequence[CellQuery]
    ) -> tuple[Array, Array, Estimates, list[CellQuery]]:
        """Values (k,), their slopes in what was collected, (k, parts), and that."""
        people, fits = self.collected.source.people, self._fits(queries)
        values, parts_of = self._known(queries), _parts_of(fits)
        collected = self.collected.answer(parts_of)
        collected = replace(collected, values=self.part_values(parts_of))
        slopes = np.zeros((len(queries), len(collected)))
        for number, fit, own in in_time(_places(fits)):
            parts = collected.values[own]
            values[number] += self._value(fit, parts)
            if fit.is_collected:
                slopes[number, own] = fit.coefficient
            elif np.isfinite(parts).all():
                share = partial(fit_share, fit.attributes, fit.subsets)
                slopes[number, own] = fit.coefficient * central_slopes(share, parts / people)
        return values, slopes, collected, parts_of

    def _known(self, queries: Sequence[CellQuery]) -> Array:
        """The part of the fitted queries that is known without any report, shape (k,)."""
        known = [query.known * isinstance(query, FittedQuery) for query in queries]
        return self.collected.source.people * np.array(known, dtype=float)

    @staticmethod
    def _fits(queries: Sequence[CellQuery]) -> list[tuple[int, Fit]]:
        """By the number of the query; one that needs no fit is a part of its own."""
        return [
            (number, fit)
            for number, query in enumerate(queries)
            for fit in (
                query.fits if isinstance(query, FittedQuery) else (Fit(1.0, 0, ((),), (query,)),)
            )
        ]

    def _value(self, fit: Fit, parts: Array) -> float:
        """Of one fit; parts: the people inside the box on each of its subsets."""
        people = self.collected.source.people
        if fit.is_collected:
            return float(fit.coefficient * parts[0])
        if not np.isfinite(parts).all():
            return math.nan
        return fit.coefficient * people * fit_share(fit.attributes, fit.subsets, parts / people)


def _parts_of(fits: Sequence[tuple[int, Fit]]) -> list[CellQuery]:
    return [part for _, fit in fits for part in fit.queries]


def _places(fits: Sequence[tuple[int, Fit]]) -> Iterator[tuple[int, Fit, slice]]:
    """The number of the query, a fit, and where its parts are among all."""
    start = 0
    for number, fit in fits:
        yield number, fit, slice(start, start + len(fit.queries))
        start += len(fit.queries)


@dataclass(frozen=True)
class CalmEstimator(MaxEntEstimator):
    """CALM's steps: marginals made consistent where they overlap and non-negative, and what none
    holds fitted to them. The covariance is that of what was collected.

    smooth: made those tables.
    """

    smooth: SmoothMarginals

    def part_values(self, parts: Sequence[CellQuery]) -> Array:
        """From the consistent tables; NaN where nobody was asked."""
        plain = super().part_values(parts)
        if not parts or not self.smooth.people:
            return plain
        return np.where(np.isfinite(plain), self.smooth.count(parts)[0], plain)


@dataclass(eq=False)
class SmoothMarginals(SmoothingEstimator):
    """Answers from one table of people per marginal, nowhere negative.

    Unbiased estimates of all cells are transformed, and from there on they are frequencies with
    noise, as those of the Fourier response: shrunk, projected and simulated by the same code
    (`fourier.smoothing`). Source: docs/spec/fourier.md#8.
    """

    design: CollectedMarginals
    source: ReportedSource
    unbiased: UnbiasedEstimator

    @property
    def people(self) -> float:
        """How many reported."""
        return self.source.people

    def count(self, queries: Sequence[CellQuery]) -> Array:
        """Queries without a public weight on the tables and on their replicates, (1 + r, k)."""
        known = [self.people * query.known for query in queries]
        values = np.tile(known, (len(self._shares[0]), 1))
        pieces, _ = self.unbiased.pieces(queries)
        for group, entries in pieces.items():
            asked = np.unique([number for number, _, _ in entries])
            nodes, weights = merge_entries(entries, asked)
            values[:, asked] += self.people * (self._shares[group][:, nodes] @ weights.T)
        return values

    @cached_property
    def _shares(self) -> list[Array]:
        """By group the shares of its reports at its nodes, in the smoothed tables and in the
        replicates, shape (1 + r, nodes)."""
        # Only smoothing needs scipy.fft, which takes a quarter of a second to import.
        from ldpsql.mechanisms.fourier.smoothing import smooth  # noqa: PLC0415

        domain, people = self.design.domain, int(self.people)
        unordered = frozenset(filter(domain.unordered_codes, range(len(domain.sizes))))
        found = smooth(self.blocks(), people, unordered, self.source.histogram.siblings)
        shares = [np.zeros((1 + len(found.replicates[0]), a.nodes)) for a in self.design.answers]
        pairs = zip(found.tables, found.replicates, strict=True)
        for number, (table, drawn) in enumerate(pairs):
            group, nodes, factor = self.design.find_nodes(number)
            tables = np.concatenate([table[None], drawn])
            shares[group][:, nodes] = tables.reshape(len(tables), -1) / people / factor
        return shares

    def blocks(self) -> list[Block]:
        """The frequencies of every marginal, with the information about each.

        What several marginals tell of attributes that they share is one estimate, weighted by
        precision, which all of them hold.
        """
        from ldpsql.mechanisms.fourier.projection import Block  # noqa: PLC0415  (as above)

        people, sums, precisions = self.people, dict[Axes, Complexes](), dict[Axes, float]()
        for number, axes in enumerate(self.design.marginals):
            group, nodes, factor = self.design.find_nodes(number)
            answer, reports = self.source.answers[group], self.source.size(group)
            if not reports:
                continue
            # Estimates of a character from several marginals are independent: different people were
            # asked. Weighted by their precisions they make the one of least variance, whose
            # precision is the sum.
            shares = factor * self.source.at(group, nodes, (None, None))
            found = np.fft.fftn(shares.reshape(self._shape(axes)))
            # A character has the squared norm of its cells.
            variance = answer.moments.contrast_variance(answer.nodes)
            known = reports / (factor**2 * len(nodes) * variance)
            for face in parts_of((axes,))[1:]:
                own = found[tuple(slice(1, None) if axis in face else 0 for axis in axes)]
                sums[face] = sums.get(face, 0.0) + known * own
                precisions[face] = precisions.get(face, 0.0) + known
        spectra = {face: people * own / precisions[face] for face, own in sums.items()}
        known_of = {
            face: np.full(own.shape, precisions[face] / people) for face, own in sums.items()
        }
        blocks = []
        for axes in self.design.marginals:
            shape = self._shape(axes)
            coefficients = spread_faces(spectra, axes, shape).astype(np.complex128)
            information = spread_faces(known_of, axes, shape)
            coefficients.flat[0], information.flat[0] = people, 1.0
            blocks.append(Block(axes, coefficients, information, self._demand(axes), shape))
        return blocks

    def _demand(self, axes: Axes) -> Array:
        """How much ranges of ordered attributes, and single codes of the rest, want of every
        frequency, shape: that of the marginal."""
        domain, weights = self.design.domain, np.ones(())
        for axis in axes:
            kind = "equality" if domain.unordered_codes(axis) else "range"
            own = spectrum(kind, domain.sizes[axis], domain.sizes[axis])
            weights = np.multiply.outer(weights, own)
        return weights

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self.design.domain.sizes[axis] for axis in axes)


def fit_share(attributes: int, subsets: Sequence[Axes], shares: Array) -> float:
    """The share inside on all attributes of the fitted table.

    shares: inside on the attributes of each subset, whatever the others are, shape (subsets,).
    Every part of a subset is a subset too. Tables that noise has made negative are cut off at 0.
    """
    known = {(): 1.0, **dict(zip(subsets, shares.tolist(), strict=True))}
    largest = [s for s in subsets if not any(set(s) < set(other) for other in subsets)]
    even = np.full((2,) * attributes, 0.5**attributes)
    table = fit_marginals(even, [(subset, _two_way(subset, known)) for subset in largest])
    return float(table[(1,) * attributes])


def _two_way(subset: Axes, known: dict[Axes, float]) -> Array:
    """The table of inside (1) and outside (0) on a subset, by inclusion and exclusion."""
    inside = [
        known[tuple(axis for axis, bit in zip(subset, cell, strict=True) if bit)]
        for cell in product((0, 1), repeat=len(subset))
    ]
    table = np.array(inside).reshape((2,) * len(subset))
    for axis in range(len(subset)):
        # 0 says here "wherever it is on this axis", of which inside is taken away.
        halves = np.moveaxis(table, axis, 0)
        halves[0] -= halves[1]
    table = np.maximum(table, 0.0)
    return np.asarray(table / table.sum())


# -- designs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CollectedMarginals(LinearDesign[CellQuery]):
    """Questions broken into cells of marginals; how these are reported is left open.

    marginals: the attributes of each.  weights: whole numbers; each person is asked about one
    marginal, with a probability in proportion.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    marginals: tuple[Axes, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        axes = range(len(self.domain.sizes))
        for marginal in self.marginals:
            if list(marginal) != sorted(set(marginal)) or not set(marginal) <= set(axes):
                raise SurveyError("a marginal of the design does not fit the schema")
        if len(self.weights) != len(self.marginals) or min(self.weights, default=0) < 1:
            raise SurveyError("every marginal needs a positive weight")
        if max(self.sizes) > LARGEST_MARGINAL:
            raise SurveyError(
                f"a marginal has {max(self.sizes)} cells, more than {LARGEST_MARGINAL}; "
                "use coarser bins or fewer attributes together"
            )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells of every marginal."""
        sizes = self.domain.sizes
        return tuple(math.prod(sizes[axis] for axis in axes) for axes in self.marginals)

    @cached_property
    def answers(self) -> tuple[OracleAnswer, ...]:
        """How every question is answered."""
        return answers_of(self.plan, MarginalAnswer)

    @cached_property
    def fits(self) -> bool:
        """Whether conjunctions that were not collected can be fitted to those that were."""
        return any(len(marginal) > 1 for marginal in self.marginals)

    def at(self, epsilon: Epsilon) -> Self:
        """The same design with another local epsilon for every marginal."""
        return replace(self, epsilon=epsilon)

    def keep_central(self, central: Central) -> Self:
        """With the largest common local epsilon that keeps a central promise."""
        return self.at(largest_local(lambda local: self.at(local).blankets(), central))

    def holds(self, axes: Axes) -> bool:
        """Whether a question on these attributes together can be answered."""
        return bool(self._marginals_with(axes))

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The cells that answer a query, in every marginal that can.

        UnsupportedSQL for attributes that no marginal holds together; where there are marginals of
        several attributes, only once the unbiased estimator is asked.
        """
        terms = tuple((share, box.normal(self.domain.sizes)) for share, box in query.terms)
        known, boxes = split_known(replace(query, terms=terms))
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        missing = [axes for axes in (axes_of(box) for _, box in boxes) if not self.holds(axes)]
        if not missing:
            return self.direct(known, boxes, query.weight)
        is_fitted = self.fits and query.weight is None and max(map(len, missing)) <= LARGEST_FIT
        if not is_fitted or not all(self.holds((axis,)) for axes in missing for axis in axes):
            raise self._refuse(missing[0])
        refusal = self._refuse(missing[0], instead="ask with --estimator maxent, or ")
        fits = tuple(self._fit(share, box) for share, box in boxes)
        return FittedQuery(known, True, (), None, fits, refusal)

    def direct(self, known: float, boxes: Boxes, weight: Weight | None) -> CellQuery:
        """The cells of boxes whose attributes were collected together: independent ways to answer
        them all; where no marginal holds them all, one that takes the first that holds each."""
        constrained = [axes_of(box) for _, box in boxes]
        together = self._marginals_with(tuple(set().union(*constrained)))
        if together:
            alternatives = [self._cells([(group, boxes)]) for group in together]
        else:
            parts: dict[int, list[tuple[float, Box]]] = {}
            for part, axes in zip(boxes, constrained, strict=True):
                parts.setdefault(self._marginals_with(axes)[0], []).append(part)
            alternatives = [self._cells(sorted(parts.items()))]
        return CellQuery(known, True, tuple(alternatives), weight)

    def _fit(self, share: float, box: Box) -> Fit:
        """The evidence of the marginals about a box: all of it, or its parts on fewer
        attributes."""
        axes = axes_of(box)
        places = range(len(axes))
        subsets = [tuple(places)]
        if not self.holds(axes):
            every = (part for size in places for part in combinations(places, size) if part)
            subsets = [part for part in every if self.holds(tuple(axes[i] for i in part))]
        queries = []
        for part in subsets:
            kept = {axes[i] for i in part}
            sides = (side if axis in kept else None for axis, side in enumerate(box.sides))
            queries.append(self.direct(0.0, [(1.0, Box(tuple(sides)))], None))
        return Fit(share, len(axes), tuple(subsets), tuple(queries))

    def _refuse(self, axes: Axes, instead: str = "") -> UnsupportedSQL:
        """The error for a question whose attributes no marginal holds, and what would have to.

        instead: what else there is to do.
        """
        asked = " and ".join(self.domain.names[axis] for axis in axes)
        together, fewer = "", ""
        if len(axes) > 1:
            together = " together"
            fewer = "; where fewer at once will do, say so by max_predicates under [workload]"
        return UnsupportedSQL(
            f"this survey does not collect {asked}{together}",
            hint=f"{instead}design it with mechanism {self.name} and the option ways = "
            f"{len(axes)}, or ways = 0 and a [workload] whose queries ask about {asked}{fewer}",
        )

    def _marginals_with(self, axes: Axes) -> list[int]:
        return [n for n, marginal in enumerate(self.marginals) if set(axes) <= set(marginal)]

    def _cells(self, parts: Sequence[tuple[int, Boxes]]) -> Alternative:
        """The cells of boxes in the marginals that answer them."""
        alternative = []
        for group, boxes in parts:
            covers = [find_cells(box, self.marginals[group], self.domain.sizes) for _, box in boxes]
            weights = np.repeat([share for share, _ in boxes], list(map(len, covers)))
            alternative.append(self.group_cells(group, np.concatenate(covers), weights))
        return tuple(alternative)

    def find_nodes(self, marginal: int) -> tuple[int, Codes, float]:
        """The group and the nodes that are the cells of a marginal, and the share of people in a
        cell over that of reports at its node."""
        return marginal, np.arange(self.sizes[marginal]), 1.0

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Weighted cells of a marginal as weighted nodes of a group of reports."""
        group, nodes, factor = self.find_nodes(marginal)
        return GroupCells(group, nodes[cells], weights * factor)

    @abstractmethod
    def describe_group(self, number: int) -> str:
        """The subject of a group of reports, in words."""

    def describe(self, planned: CellQuery) -> list[str]:
        """The cells of each group used; what can only be fitted says so."""
        if isinstance(planned, FittedQuery):
            return [f"{planned.refusal.reason}: estimator maxent fits it to what was collected"]
        lines = describe_known(planned.known)
        for alternative in planned.alternatives:
            for cells in alternative:
                lines.append(f"{self.describe_group(cells.group)}: {list_nodes(cells.nodes)}")
        return lines

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one, by the actual number of reports of each marginal; the smoothed one;
        `maxent` and `calm` where marginals hold several attributes."""
        found = dict(super().estimators)
        if self.can_smooth:
            found["smooth"] = self.smooth
        if self.fits:
            found["maxent"] = lambda histogram: MaxEntEstimator(self._collect(histogram))
        if self.fits and self.can_smooth:
            found["calm"] = lambda histogram: CalmEstimator(
                self._collect(histogram), self.smooth(histogram)
            )
        return found

    def _collect(self, histogram: Histogram) -> LinearEstimator:
        return LinearEstimator(ReportedSource(histogram, self.answers))

    def combine_unbiased(self, histogram: Histogram) -> UnbiasedEstimator:
        """By the actual number of reports of each marginal."""
        return UnbiasedEstimator(ReportedSource(histogram, self.answers))

    def answer_sets(
        self, estimator: str, histograms: Histograms, rows: Sequence[Sequence[CellQuery]]
    ) -> tuple[Array, Array] | None:
        """As any linear design; UnsupportedSQL for what can only be fitted."""
        if estimator == "unbiased":
            _require_collected(rows)
        return super().answer_sets(estimator, histograms, rows)

    @property
    def can_smooth(self) -> bool:
        """Whether there are few enough cells to decode all of them, of every marginal."""
        is_hashed = any(answer.oracle.kind == "olh" for answer in self.answers)
        return sum(self.sizes) <= (MOST_HASHED if is_hashed else MOST_SMOOTHED)

    def smooth(self, histogram: Histogram) -> SmoothMarginals:
        """Biased, with a smaller typical error."""
        source = ReportedSource(histogram, self.answers)
        return SmoothMarginals(self, source, UnbiasedEstimator(source))

    @property
    def biases(self) -> Mapping[str, Bias]:
        """Of fits, and of answers that are made consistent and non-negative."""
        if not self.fits:
            return {}
        biases = {"maxent": Bias(BIAS, lambda planned: isinstance(planned, FittedQuery))}
        if self.can_smooth:
            biases["calm"] = Bias(CONSISTENT, lambda planned: planned.is_asked)
        return biases

    def spread_evenly(self) -> list[Array]:
        """The share of people at each node of each group of reports, where records are even."""
        return [np.full(size, 1.0 / size) for size in self.sizes]

    def even_shares(self, group: int, nodes: Codes) -> Array:
        """Estimates at nodes of a group for people spread evenly."""
        return self.spread_evenly()[group][nodes]

    def to_json(self) -> Mapping[str, Any]:
        """Plain data for the recipe, besides name, domain and epsilon."""
        return {"marginals": [list(m) for m in self.marginals], "weights": list(self.weights)}


def axes_of(box: Box) -> Axes:
    """The attributes that a box constrains."""
    return tuple(axis for axis, side in enumerate(box.sides) if side is not None)
