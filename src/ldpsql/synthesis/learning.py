"""From the reports of a survey to a model of its people; run by the collector on reports.

columns alone -> bins and groups -> pairs -> margins that agree -> dependences above the noise
-> a graph of them -> the table of greatest entropy -> interactions of three -> fitted again
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np

from ldpsql import limits
from ldpsql.algebra.boxes import Box, CodeSet, LinearQuery
from ldpsql.algebra.estimate import Estimates
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import space_levels
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyEstimator, make_estimator
from ldpsql.mechanisms.rounds import count_earlier
from ldpsql.sql.domains import find_dimension
from ldpsql.store.base import ReportSource, Selection
from ldpsql.survey import Survey
from ldpsql.synthesis.columns import (
    LARGEST_GROUPS,
    Bins,
    ModelAxis,
    PublicPeople,
    cut_bins,
    group_bins,
)
from ldpsql.synthesis.consistency import (
    NoisyShares,
    average,
    denoise_dependence,
    denoise_interaction,
    fit_to_marginals,
    mutual_information,
    nearest_shares,
    shrink_to_even,
)
from ldpsql.synthesis.model import Axes, JunctionTree, Model, Pair, choose_pairs, fit_model
from ldpsql_device.errors import DataError

LARGEST_MODEL = 1 << 18
MOST_CELLS = 1 << 15
MOST_TRIPLES, LARGEST_TRIPLE = 16, 512


@dataclass(frozen=True)
class ReportedShares:
    """Estimates of small tables from the reports of a survey.

    people: number of reports, those of earlier rounds included.  everybody: answers from all
    reports.  by_cell: answers from the reports in each cell of the public axis, in its order.
    """

    survey: Survey
    people: int
    everybody: AnyEstimator
    by_cell: tuple[AnyEstimator, ...] = ()

    @classmethod
    def of(cls, store: ReportSource, survey: Survey, keys: Sequence[str] = ()) -> ReportedShares:
        """Read the histograms; DataError where there are no reports.

        The design's default estimator answers: a post-processed one has been where this goes.

        keys: public columns whose combinations are the cells of the public axis.
        """
        design = survey.design
        ((_, histogram),) = store.histograms(survey.table, Selection())
        if histogram.people == 0:
            raise DataError(f"{survey.table} has no reports to draw a table from; ingest some")
        split = store.histograms(survey.table, Selection(keys=tuple(keys))) if keys else []
        return cls(
            survey,
            count_earlier(design) + histogram.people,
            make_estimator(design, histogram),
            tuple(make_estimator(design, part) for _, part in split),
        )

    def ask(self, axes: Sequence[ModelAxis]) -> NoisyShares | None:
        """The shares of the people by cells of dimensions, at most one measure and one public
        axis, in this order; None where the design cannot plan them, or the reports cannot tell.

        The first two cells of a measure are the lower and the upper bound: how many people at each
        would have the same sum.
        """
        dimensions = [axis for axis in axes if axis.kind == "dimension"]
        measures = [axis.index for axis in axes if axis.kind == "measure"]
        is_split = any(axis.kind == "public" for axis in axes)
        cells = product(*([(axis.index, side) for side in axis.sides] for axis in dimensions))
        try:
            rows = [self._plan(cell, measures) for cell in limits.in_time(cells)]
            estimators = self.by_cell if is_split else (self.everybody,)
            answers = [estimator.answer_rows(rows) for estimator in limits.in_time(estimators)]
        except UnsupportedSQL:
            return None
        nullable = len(self.survey.design.domain.nullable)
        for measure in (each - nullable for each in measures if each >= nullable):
            answers = [[self._split_at_bounds(each, measure) for each in part] for part in answers]
        # Cells of dimensions, then those of the measure, then those of the public axis.
        found = np.array([[(each.values, each.stderr) for each in part] for part in answers])
        shape = (2, *(axis.size for axis in axes))
        shares, errors = np.moveaxis(found, (2, 0), (0, -1)).reshape(shape) / self.people
        is_estimable = np.isfinite(shares).all() and np.isfinite(errors).all()
        return NoisyShares(shares, errors**2) if is_estimable else None

    def _split_at_bounds(self, answer: Estimates, measure: int) -> Estimates:
        """From a count n and a sum s, the people at the lower and at the upper bound of the measure
        who would have both: (high n - s) / (high - low) and (s - low n) / (high - low)."""
        low, high = self.survey.design.domain.bounds[measure]
        to_bounds = np.array([[high, -1.0], [-low, 1.0]]) / (high - low)
        # What reports cannot tell has an infinite variance, which no linear map makes finite.
        with np.errstate(invalid="ignore"):
            return answer.map(to_bounds)

    def _plan(self, cell: Sequence[tuple[int, CodeSet]], measures: Sequence[int]) -> list[Any]:
        """The count of a cell, and the sum of the measure in it if there is one; of a measure that
        may be missing the people at each bound, by their levels, and those without a value."""
        design, domain = self.survey.design, self.survey.design.domain
        sizes, sides, nullable = domain.sizes, dict(cell), len(domain.nullable)
        if measures and measures[0] < nullable:
            axis = domain.first_level_axis + measures[0]
            *_, count, rounding = domain.nullable[measures[0]]
            upper = np.append((1.0 + space_levels(-1.0, 1.0, count, rounding)) / 2.0, 0.0)
            missing = np.arange(count + 1) == count
            boxes = [
                Box.of(len(sizes), {**sides, axis: ((code, code + 1),)}).normal(sizes)
                for code in range(count + 1)
            ]
            queries = [
                LinearQuery(tuple((a, b) for a, b in zip(row.tolist(), boxes, strict=True) if a))
                for row in (1.0 - upper - missing, upper, 1.0 * missing)
            ]
        else:
            box = Box.of(len(sizes), sides).normal(sizes)
            sums = (LinearQuery.sum(measure - nullable, box) for measure in measures)
            queries = [LinearQuery.count(box), *sums]
        return [design.prepare(query) for query in queries]


@dataclass(frozen=True)
class Learned:
    """A model of the people of a survey.

    axes: of the model: dimensions, then measures, then the public axis.  bins: per dimension.
    alone: error of one cell of each axis alone, NaN where the design does not answer.  kept: error
    of one cell of each table of several axes that the model keeps.  unclear: pairs that cannot be
    told from independence.  unknown: pairs that the design does not answer, or that were too many
    to ask.  dropped: pairs that the model has no room for.
    Errors are root mean squares of standard errors, as shares of the people, of what was asked;
    the steps after that lower them.
    """

    axes: tuple[ModelAxis, ...]
    bins: tuple[Bins, ...]
    model: Model
    alone: tuple[float, ...]
    kept: Mapping[Axes, float] = field(default_factory=dict)
    unclear: tuple[Pair, ...] = ()
    unknown: tuple[Pair, ...] = ()
    dropped: tuple[Pair, ...] = ()


def learn(reported: ReportedShares, public: PublicPeople | None) -> Learned:
    """Learn the model of greatest entropy with what the reports tell."""
    count = len(reported.survey.schema.dimensions)
    # So many groups per dimension that all pairs can be asked.
    groups = min(LARGEST_GROUPS, math.isqrt(MOST_CELLS // max(math.comb(count, 2), 1)))
    cut = [_cut(reported, index, groups) for index in range(count)]
    schema = reported.survey.schema
    axes = [bins.axis for bins, _ in cut]
    for index, measure in enumerate(schema.measures):
        if find_dimension(schema, measure.name) is None:  # else it is a dimension as well
            axes.append(ModelAxis("measure", index, measure.name, 2 + measure.has_null))
    if public is not None and public.keys:
        name = public.keys[0] if len(public.keys) == 1 else f"({', '.join(public.keys)})"
        axes.append(ModelAxis("public", 0, name, len(public.shares)))
    alone = [reported.ask([axis]) for axis in axes if axis.kind != "public"]
    if public is not None and len(alone) < len(axes):
        alone.append(NoisyShares(public.shares, np.zeros(axes[-1].size)))  # exact
    pairs, unknown = _ask_pairs(reported, axes)
    even = [np.bincount(bins.group, bins.shares).astype(np.float64) for bins, _ in cut]
    even += [np.full(axis.size, 1.0 / axis.size) for axis in axes[count:]]
    margins = [_agree(place, table, pairs, even[place]) for place, table in enumerate(alone)]
    dependent = _find_dependent(pairs, margins)
    model, edges, triples = _fit(reported, axes, margins, dependent)
    errors = [math.nan if table is None else table.noise for table in alone[count:]]
    kept = {pair: pairs[pair].noise for pair in edges}
    return Learned(
        tuple(axes),
        tuple(bins.adapt(model.table((place,))) for place, (bins, _) in enumerate(cut)),
        model,
        (*(error for _, error in cut), *errors),
        kept | triples,
        tuple(pair for pair in pairs if pair not in dependent),
        unknown,
        tuple(pair for pair in dependent if pair not in edges),
    )


def _fit(
    reported: ReportedShares,
    axes: Sequence[ModelAxis],
    margins: Sequence[Array],
    dependent: Mapping[Pair, Array],
) -> tuple[Model, tuple[Pair, ...], dict[Axes, float]]:
    """The model, the pairs that it has room for, and the triples that say more than these, with the
    error of a cell."""
    sizes = tuple(axis.size for axis in axes)
    strengths = {pair: mutual_information(table) for pair, table in dependent.items()}
    edges = choose_pairs(sizes, strengths, LARGEST_MODEL)
    tree = JunctionTree.of(sizes, edges)
    tables: dict[Axes, Array] = {(place,): margin for place, margin in enumerate(margins)}
    tables |= {pair: dependent[pair] for pair in edges}
    model = fit_model(sizes, tree, tables)
    triples = _find_triples(reported, axes, model, strengths)
    if triples:
        interacting = {key: table for key, (table, _) in triples.items()}
        model = fit_model(sizes, tree, tables | interacting)
    return model, edges, {key: noise for key, (_, noise) in triples.items()}


def _cut(reported: ReportedShares, index: int, groups: int) -> tuple[Bins, float]:
    """A dimension in bins and groups, and the error of the share of one bin (NaN: unknown)."""
    dimension = reported.survey.schema.dimensions[index]

    def ask(bins: Bins) -> NoisyShares | None:
        return reported.ask([ModelAxis("dimension", index, bins.name, bins.size, bins.cells)])

    bins = cut_bins(index, dimension)
    table = ask(bins)
    if table is not None and table.noise > 0.5 / bins.size:
        bins = cut_bins(index, dimension, table.noise)
        table = ask(bins)
    if table is None:
        return group_bins(bins, dimension, 1.0, groups), math.nan
    bins = replace(bins, shares=nearest_shares(shrink_to_even(table)))
    return group_bins(bins, dimension, table.noise, groups), table.noise


def _ask_pairs(
    reported: ReportedShares, axes: Sequence[ModelAxis]
) -> tuple[dict[Pair, NoisyShares], tuple[Pair, ...]]:
    """All tables of two axes that the design answers, and the pairs that stay unknown.

    Of very many columns the first are asked together.
    """
    tables: dict[Pair, NoisyShares] = {}
    unknown: list[Pair] = []
    cells = 0
    for i, j in combinations(range(len(axes)), 2):
        size = axes[i].size * axes[j].size
        is_sums = axes[i].kind == axes[j].kind == "measure"
        table = None
        if size > 1 and not is_sums and cells + size <= MOST_CELLS:
            table = reported.ask([axes[i], axes[j]])
            cells += size
        if table is None:
            unknown.append((i, j))
        else:
            tables[i, j] = table
    return tables, tuple(unknown)


def _agree(
    place: int, alone: NoisyShares | None, pairs: Mapping[Pair, NoisyShares], unknown: Array
) -> Array:
    """The shares of one axis on which all tables agree; `unknown` where there are none."""
    tables = [table.marginal(pair.index(place)) for pair, table in pairs.items() if place in pair]
    if alone is not None:
        tables.insert(0, alone)
    return nearest_shares(shrink_to_even(average(tables))) if tables else unknown


def _find_dependent(
    pairs: Mapping[Pair, NoisyShares], margins: Sequence[Array]
) -> dict[Pair, Array]:
    """The pairs whose dependence exceeds the noise, as tables that are possible."""
    dependent: dict[Pair, Array] = {}
    for (i, j), table in pairs.items():
        left, right = margins[i], margins[j]
        excess = denoise_dependence(table, left, right)
        if excess is not None:
            denoised = np.outer(left, right) + excess
            dependent[i, j] = fit_to_marginals(denoised, [((0,), left), ((1,), right)])
    return dependent


def _find_triples(
    reported: ReportedShares,
    axes: Sequence[ModelAxis],
    model: Model,
    strengths: Mapping[Pair, float],
) -> dict[Axes, tuple[Array, float]]:
    """Tables of three axes that say more than the model of pairs, with the error of a cell.

    Only small ones within a clique are asked, with at most one measure and no public axis; those
    first whose pairs depend most.
    """

    def may_ask(triple: Axes) -> bool:
        kinds = [axes[place].kind for place in triple]
        size = prod(axes[place].size for place in triple)
        return size <= LARGEST_TRIPLE and "public" not in kinds and kinds.count("measure") <= 1

    def strength(triple: Axes) -> float:
        return sum(strengths.get(pair, 0.0) for pair in combinations(triple, 2))

    inside = {t for clique in model.tree.cliques for t in combinations(clique, 3) if may_ask(t)}
    triples: dict[Axes, tuple[Array, float]] = {}
    for triple in sorted(inside, key=lambda t: (-strength(t), t))[:MOST_TRIPLES]:
        table = reported.ask([axes[place] for place in triple])
        if table is None:
            continue
        expected = model.table(triple)
        excess = denoise_interaction(NoisyShares(table.shares - expected, table.variances))
        if excess is not None:
            pairs = [(pair, expected.sum(axis=3 - sum(pair))) for pair in combinations(range(3), 2)]
            triples[triple] = fit_to_marginals(expected + excess, pairs), table.noise
    return triples
