"""Runs at the collector. Sees reports. From the reports of a survey to a model of its people.

columns alone -> bins and groups -> pairs -> margins that agree -> dependences above the noise
-> a graph of them -> the table of greatest entropy -> interactions of three -> fitted again
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

import numpy as np

from ldpsql.estimate import Array
from ldpsql.synthesis.asking import Reported
from ldpsql.synthesis.axes import LARGEST_GROUPS, Axis, Bins, bins_of, grouped
from ldpsql.synthesis.consistency import (
    Noisy,
    averaged,
    calmed,
    dependence,
    information,
    interaction,
    possible,
    simplex,
)
from ldpsql.synthesis.graph import Axes, JunctionTree, Pair, chosen
from ldpsql.synthesis.model import Model, fitted
from ldpsql.synthesis.public import PublicPeople

LARGEST_MODEL = 1 << 18
MOST_CELLS = 1 << 15
MOST_TRIPLES, LARGEST_TRIPLE = 16, 512
_PAIRS = ((0, 1), (0, 2), (1, 2))


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

    axes: tuple[Axis, ...]
    bins: tuple[Bins, ...]
    model: Model
    alone: tuple[float, ...]
    kept: Mapping[Axes, float] = field(default_factory=dict)
    unclear: tuple[Pair, ...] = ()
    unknown: tuple[Pair, ...] = ()
    dropped: tuple[Pair, ...] = ()


def learned(reported: Reported, public: PublicPeople | None) -> Learned:
    """Learn the model of greatest entropy with what the reports tell."""
    count = len(reported.survey.schema.dimensions)
    found = [_bins(reported, index, _groups(count)) for index in range(count)]
    axes = (*(bins.axis for bins, _ in found), *_other_axes(reported, public))
    alone = [_alone(reported, axis, public) for axis in axes]
    pairs, unknown = _pairs(reported, axes)
    even: list[Array] = [
        np.asarray(np.bincount(bins.group, bins.shares), np.float64) for bins, _ in found
    ]
    even += [np.full(axis.size, 1.0 / axis.size) for axis in axes[count:]]
    margins = [_margin(place, table, pairs, even[place]) for place, table in enumerate(alone)]
    dependent = _dependent(pairs, margins)
    sizes = tuple(axis.size for axis in axes)
    strengths = {pair: information(table) for pair, table in dependent.items()}
    edges = chosen(sizes, [(strength, pair) for pair, strength in strengths.items()], LARGEST_MODEL)
    tree = JunctionTree.of(sizes, edges)
    tables: dict[Axes, Array] = {(place,): margin for place, margin in enumerate(margins)}
    tables |= {pair: dependent[pair] for pair in edges}
    model = fitted(sizes, tree, tables)
    triples = _triples(reported, axes, model, strengths)
    if triples:
        model = fitted(sizes, tree, tables | {key: table for key, (table, _) in triples.items()})
    kept = {pair: pairs[pair].noise for pair in edges}
    return Learned(
        axes,
        tuple(bins.adapted(model.table((place,))) for place, (bins, _) in enumerate(found)),
        model,
        (*(error for _, error in found), *map(_error, alone[len(found) :])),
        kept | {key: noise for key, (_, noise) in triples.items()},
        tuple(pair for pair in pairs if pair not in dependent),
        unknown,
        tuple(pair for pair in dependent if pair not in edges),
    )


def _groups(dimensions: int) -> int:
    """How many groups a dimension may have, so that all pairs can be asked."""
    pairs = max(dimensions * (dimensions - 1) // 2, 1)
    return min(LARGEST_GROUPS, math.isqrt(MOST_CELLS // pairs))


def _bins(reported: Reported, index: int, groups: int) -> tuple[Bins, float]:
    """A dimension in bins and groups, and the error of the share of one bin (NaN: unknown)."""
    dimension = reported.survey.schema.dimensions[index]
    bins = bins_of(index, dimension)
    table = _asked(reported, bins)
    if table is not None and table.noise > 0.5 / bins.size:
        bins = bins_of(index, dimension, table.noise)
        table = _asked(reported, bins)
    if table is None:
        return grouped(bins, dimension, 1.0, groups), math.nan
    bins = replace(bins, shares=simplex(calmed(table)))
    return grouped(bins, dimension, table.noise, groups), table.noise


def _asked(reported: Reported, bins: Bins) -> Noisy | None:
    return reported.ask([Axis("dimension", bins.index, bins.name, bins.size, bins.cells)])


def _other_axes(reported: Reported, public: PublicPeople | None) -> list[Axis]:
    """The measures that are no dimension as well, and the public axis."""
    domain = reported.survey.schema.record_domain
    axes = [
        Axis("measure", index, name, 2)
        for index, name in enumerate(domain.measure_names)
        if domain.measured[index] is None
    ]
    if public is not None and public.keys:
        name = public.keys[0] if len(public.keys) == 1 else f"({', '.join(public.keys)})"
        axes.append(Axis("public", 0, name, len(public.shares)))
    return axes


def _alone(reported: Reported, axis: Axis, public: PublicPeople | None) -> Noisy | None:
    """The shares of one axis; public ones are exact."""
    if axis.kind == "public" and public is not None:
        return Noisy(public.shares, np.zeros(axis.size))
    return reported.ask([axis])


def _error(table: Noisy | None) -> float:
    return math.nan if table is None else table.noise


def _pairs(reported: Reported, axes: Sequence[Axis]) -> tuple[dict[Pair, Noisy], tuple[Pair, ...]]:
    """All tables of two axes that the design answers, and the pairs that stay unknown.

    Of very many columns the first are asked together.
    """
    found: dict[Pair, Noisy] = {}
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
            found[i, j] = table
    return found, tuple(unknown)


def _margin(place: int, alone: Noisy | None, pairs: Mapping[Pair, Noisy], unknown: Array) -> Array:
    """The shares of one axis on which all tables agree; `unknown` where there are none."""
    tables = [table.margin(pair.index(place)) for pair, table in pairs.items() if place in pair]
    if alone is not None:
        tables.insert(0, alone)
    return simplex(calmed(averaged(tables))) if tables else unknown


def _dependent(pairs: Mapping[Pair, Noisy], margins: Sequence[Array]) -> dict[Pair, Array]:
    """The pairs whose dependence exceeds the noise, as tables that are possible."""
    found: dict[Pair, Array] = {}
    for (i, j), table in pairs.items():
        excess = dependence(table, margins[i], margins[j])
        if excess is not None:
            independent = np.outer(margins[i], margins[j])
            found[i, j] = possible(independent + excess, [((0,), margins[i]), ((1,), margins[j])])
    return found


def _triples(
    reported: Reported, axes: Sequence[Axis], model: Model, strengths: Mapping[Pair, float]
) -> dict[Axes, tuple[Array, float]]:
    """Tables of three axes that say more than the model of pairs, with the error of a cell.

    Only small ones within a clique are asked, those first whose pairs depend most.
    """
    inside = {t for clique in model.tree.cliques for t in combinations(clique, 3)}
    small = [t for t in inside if _may_ask(t, axes)]
    small.sort(key=lambda t: (-sum(strengths.get(pair, 0.0) for pair in combinations(t, 2)), t))
    found: dict[Axes, tuple[Array, float]] = {}
    for triple in small[:MOST_TRIPLES]:
        table = reported.ask([axes[place] for place in triple])
        if table is None:
            continue
        expected = model.table(triple)
        excess = interaction(Noisy(table.shares - expected, table.variances))
        if excess is not None:
            pairs = [(pair, expected.sum(axis=3 - sum(pair))) for pair in _PAIRS]
            found[triple] = possible(expected + excess, pairs), table.noise
    return found


def _may_ask(triple: Axes, axes: Sequence[Axis]) -> bool:
    """Whether three axes are few cells, with one measure at most and no public axis."""
    kinds = [axes[place].kind for place in triple]
    size = prod(axes[place].size for place in triple)
    return size <= LARGEST_TRIPLE and "public" not in kinds and kinds.count("measure") <= 1
