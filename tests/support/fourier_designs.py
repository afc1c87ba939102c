"""Small Fourier designs made by hand, and what they are by definition, as dense matrices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.fourier.candidates import Emitted
from ldpsql.mechanisms.fourier.covariances import ADDED_PEOPLE, find_cuts, spread_cuts
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import Base, Cluster, FamilyTable
from ldpsql.mechanisms.fourier.group import Axes, Group
from ldpsql.mechanisms.fourier.recipe import plan_of
from ldpsql.mechanisms.fourier.spectra import BoxQuery
from ldpsql.reports.channel import Outcome
from ldpsql.reports.report import Histogram, Reports
from ldpsql_device.epsilon import Epsilon

Families = tuple[Base, tuple[Axes, ...], tuple[int, ...], list[list[int]], list[list[int]]]


def domain_of(
    sizes: Sequence[int], bounds: Sequence[tuple[float, float]] = (), names: str = "xyzuvw"
) -> RecordDomain:
    """Dimensions x, y, ... and measures p0, p1, ..."""
    return RecordDomain(
        tuple(names[: len(sizes)]),
        tuple(sizes),
        tuple(f"p{i}" for i in range(len(bounds))),
        tuple(bounds),
        (None,) * len(bounds),
    )


def made(
    domain: RecordDomain,
    epsilon: str,
    families: Sequence[Families],
    group: Group | None = None,
) -> FourierDesign:
    """A design of given clusters (base, factors, orders, characters, parameters).

    Its families' probabilities are uneven: proportional to 1, 2, 3, 1, 2, 3, ... sixteenths.
    """
    axes = len(domain.sizes) + len(domain.bounds)
    own = group or Group(
        (*domain.sizes, *(2 for _ in domain.bounds)),
        domain.sizes,
        domain.sizes,
        (tuple(range(axes)),),
    )
    clusters = [
        Cluster(base, factors, orders, np.array(characters), np.array(parameters), own)
        for base, factors, orders, characters, parameters in families
    ]
    first, emitted = 0, []
    for cluster in clusters:
        parts = np.array([1.0 + i % 3 for i in range(first, first + len(cluster))])
        emitted.append(Emitted(cluster, parts))
        first += len(cluster)
    promised = Epsilon.parse(epsilon)
    plan = plan_of(emitted, own, promised)
    return FourierDesign(domain, promised, Workload.everyday(domain), own, plan)


def table_of(emitted: Sequence[Emitted]) -> FamilyTable:
    """The families with their weights as they are, in their order."""
    weights = np.concatenate([part.weights for part in emitted])
    return FamilyTable(tuple(part.cluster for part in emitted), weights / weights.sum())


def points(group: Group, axes: Axes) -> Families:
    """One family of single points over some axes: it informs every frequency of theirs."""
    return (
        "arcs",
        tuple((axis,) for axis in axes),
        group.shape(axes),
        [[1] * len(axes)],
        [[1] * len(axes)],
    )


def by_hand() -> dict[str, FourierDesign]:
    """One small design per kind of family, and one of all kinds at once."""
    line, plane, room = domain_of((12,)), domain_of((4, 6)), domain_of((3, 4, 3))
    signed = domain_of((5,), ((0.0, 3.0), (-1.0, 5.0)))
    signed_group = Group((5, 2, 2), (5,), (5,), ((0, 1), (0, 2)))
    padded = Group((6, 4), (5, 4), (5, 4), ((0, 1),))
    coarse = Group((4, 3), (4, 3), (7, 3), ((0, 1),))
    arcs_1d: list[Families] = [
        ("arcs", ((0,),), (12,), [[1], [5], [1]], [[3], [2], [6]]),
        ("arcs", ((0,),), (6,), [[2], [10]], [[2], [1]]),
        ("arcs", ((0,),), (2,), [[6]], [[1]]),
    ]
    comb: Families = ("comb", ((0,),), (12,), [[1], [5], [1]], [[2, 6, 3], [3, 7, 2], [5, 5, 4]])
    arcs_2d: list[Families] = [
        ("arcs", ((0, 1),), (12,), [[1, 1], [1, 5], [3, 2]], [[3], [2], [1]]),
        ("arcs", ((0, 1),), (2,), [[2, 3]], [[1]]),
        ("arcs", ((1,),), (6,), [[1]], [[2]]),
        ("arcs", ((0,),), (4,), [[3]], [[1]]),
    ]
    boxes: list[Families] = [
        ("arcs", ((0,), (1,)), (4, 6), [[1, 1], [3, 5]], [[2, 3], [1, 4]]),
        ("arcs", ((1,), (0,)), (3, 2), [[2, 2]], [[1, 1]]),
    ]
    scrambled: list[Families] = [
        (
            "scrambled",
            ((0,), (1,)),
            (4, 6),
            [[1, 1]] * 4,
            [[2, 7, 0], [2, 7, 1], [1, 8, 0]] * 1 + [[3, 9, 1]],
        ),
        ("scrambled", ((0,), (1,)), (4, 3), [[1, 4]], [[1, 5, 1]]),
        ("scrambled", ((0,), (1,), ()), (4, 6, 1), [[1, 1]] * 2, [[5, 3, 0], [7, 4, 3]]),
    ]
    pairs: list[Families] = [
        ("arcs", ((0, 1), (2,)), (12, 3), [[1, 1, 1], [2, 3, 2]], [[4, 1], [3, 2]]),
        ("arcs", ((1, 2), (0,)), (12, 3), [[1, 2, 1]], [[5, 1]]),
    ]
    signs: list[Families] = [
        ("arcs", ((0, 1),), (10,), [[1, 1], [2, 1]], [[3], [2]]),
        ("arcs", ((0,), (2,)), (5, 2), [[2, 1]], [[2, 1]]),
        ("arcs", ((2,),), (2,), [[1]], [[1]]),
        ("scrambled", ((0,), (1,)), (5, 2), [[1, 1]] * 2, [[1, 3, 0], [1, 3, 1]]),
        points(signed_group, (0, 1)),
        points(signed_group, (0, 2)),
    ]
    everything: list[Families] = [
        ("arcs", ((0, 1), (2,)), (12, 3), [[1, 1, 1]], [[4, 1]]),
        ("comb", ((1,),), (4,), [[1]], [[3, 2, 2]]),
        ("arcs", ((0,), (1,), (2,)), (3, 4, 3), [[1, 3, 2]], [[2, 2, 1]]),
        ("scrambled", ((0,), (2,), (1,)), (3, 3, 4), [[1, 1, 1]], [[1, 6, 2]]),
        ("scrambled", ((0,), (2,), ()), (3, 3, 1), [[1, 1]], [[4, 6, 3]]),
        ("arcs", ((2,),), (3,), [[1]], [[1]]),
    ]
    return {
        "arcs, one axis": made(line, "1", arcs_1d),
        "arcs, two axes": made(plane, "0.5", [*arcs_2d, points(_group(plane), (0, 1))]),
        "boxes": made(plane, "1.5", [*boxes, points(_group(plane), (0, 1))]),
        "window and comb": made(line, "2", [comb, points(_group(line), (0,))]),
        "scrambled": made(plane, "2", [*scrambled, points(_group(plane), (0, 1))]),
        "pair-arc x axis-arc": made(room, "1", [*pairs, points(_group(room), (0, 1, 2))]),
        "with signs": made(signed, "1", signs, signed_group),
        "padded": made(
            domain_of((5, 4)),
            "1",
            [
                ("arcs", ((0, 1),), (12,), [[1, 1], [5, 1]], [[3], [4]]),
                ("arcs", ((0,), (1,)), (6, 4), [[5, 1]], [[2, 2]]),
                points(padded, (0, 1)),
            ],
            padded,
        ),
        "coarse": made(
            domain_of((7, 3)),
            "1",
            [
                ("arcs", ((0, 1),), (12,), [[1, 1]], [[3]]),
                ("arcs", ((0,),), (4,), [[1]], [[1]]),
                points(coarse, (0, 1)),
            ],
            coarse,
        ),
        "all kinds": made(room, "1", [*everything, points(_group(room), (0, 1, 2))]),
    }


def _group(domain: RecordDomain) -> Group:
    return Group(domain.sizes, domain.sizes, domain.sizes, (tuple(range(len(domain.sizes))),))


# -- by definition ---------------------------------------------------------------------------------


def elements(group: Group) -> list[tuple[int, ...]]:
    """Every element of the group, row-major."""
    return list(product(*map(range, group.orders)))


def phase_of(cluster: Cluster, number: int, element: Sequence[int]) -> int:
    """theta(u), flat in H, from the characters as rational turns."""
    flat, place = 0, 0
    for factor, order in zip(cluster.factors, cluster.orders, strict=True):
        turns = Fraction(0)
        for axis in factor:
            frequency = int(cluster.characters[number, place])
            turns += Fraction(frequency * int(element[axis]), cluster.group.orders[axis])
            place += 1
        step = turns * order
        assert step.denominator == 1
        flat = flat * order + int(step) % order
    return flat


def difference(orders: Sequence[int], left: int, right: int) -> int:
    """left - right in a product of circles, flat."""
    flat, scale = 0, prod(orders)
    for order in orders:
        scale //= order
        flat = flat * order + (left // scale - right // scale) % order
    return flat


def channel(design: FourierDesign) -> np.ndarray:
    """Pr[report | element] from the definition, shape (reports, elements), in floating point."""
    odds = float(design.epsilon.odds)
    types = elements(design.group)
    blocks, row = [], 0
    for cluster in design.table.clusters:
        for number in range(len(cluster)):
            x = 1.0 + (odds - 1.0) * cluster.mask(number)
            phases = [phase_of(cluster, number, element) for element in types]
            own = np.array(
                [
                    [x[difference(cluster.orders, phase, answer)] for phase in phases]
                    for answer in range(cluster.phases)
                ]
            )
            blocks.append(design.table.shares[row] * own / x.sum())
            row += 1
    return np.concatenate(blocks)


def outputs(design: FourierDesign) -> list[tuple[int, int]]:
    """Every report, in the order of `channel`."""
    return [
        (number, phase)
        for number, phases in enumerate(design.table.phases)
        for phase in range(int(phases))
    ]


def information_matrix(matrix: np.ndarray) -> np.ndarray:
    """X = Q' D^-1 Q, D the row sums."""
    return np.asarray(matrix.T @ (matrix / matrix.sum(axis=1)[:, None]))


def exact_answer(
    design: FourierDesign, held: Histogram, row: Sequence[BoxQuery]
) -> tuple[np.ndarray, np.ndarray]:
    """Values (T,) of counts and their covariance (T, T), with what cut bins may be off by, of
    reports of listed families: by least squares over all elements, report by report, and without
    a Fourier transform."""
    values, covariance = _exact_even_answer(design, held, row)
    cuts = find_cuts(row, design.group)
    if not cuts:
        return values, covariance
    parts = [_exact_even_answer(design, held, [cut.part]) for _, cut in cuts]
    each = [(own[0], spread[0, 0]) for own, spread in parts]
    return values, covariance + spread_cuts(len(row), cuts, each)


def _exact_even_answer(
    design: FourierDesign, held: Histogram, row: Sequence[BoxQuery]
) -> tuple[np.ndarray, np.ndarray]:
    """The same as if people were spread evenly within every bin."""
    matrix, rows = channel(design), held.load_all()
    asked = np.stack([element_values(design.group, query) for query in row], axis=1)
    even = matrix.mean(axis=1)
    # The least contributions c, by their even second moment, of which E[c | u] = q(u).
    every = matrix / even[:, None] @ np.linalg.pinv(matrix.T @ (matrix / even[:, None])) @ asked
    families, phases = rows.columns
    starts = np.concatenate([[0], np.cumsum(design.table.phases)])
    own, kinds = every[starts[families] + phases], [query.weight for query in row]
    sums = np.array([rows.moment(kind, None) @ own[:, a] for a, kind in enumerate(kinds)])
    covariance = np.zeros((len(row), len(row)))
    for a, b in product(range(len(row)), repeat=2):
        pair = rows.moment(kinds[a], kinds[b])
        means = even @ every[:, a], even @ every[:, b]
        added = ADDED_PEOPLE / held.people * pair.sum()
        covariance[a, b] = pair @ (own[:, a] * own[:, b]) - sums[a] * sums[b] / held.people
        covariance[a, b] += added * (even @ (every[:, a] * every[:, b]) - means[0] * means[1])
    known = [query.known * rows.moment(query.weight, None).sum() for query in row]
    return known + sums, covariance


def element_values(group: Group, query: BoxQuery) -> np.ndarray:
    """What a count that knows nothing asks of every element, shape (elements,)."""
    assert query.measure is None and group.orders == group.bins
    total = np.zeros(group.orders)
    for term in query.terms:
        sides = dict(zip(term.axes, term.sides, strict=True))
        shares = [group.bin_weights(sides.get(axis), axis) for axis in range(group.dimensions)]
        total += query.level * term.coefficient * reduce(np.multiply.outer, shares)
    return total.ravel()


def dense_information(design: FourierDesign) -> np.ndarray:
    """lambda_f as the design has it, dense over all axes; 0 where no face is informed."""
    found = np.zeros(design.group.orders)
    found[(0,) * found.ndim] = 1.0
    for face, values in design.collected.information.items():
        found[tuple(slice(1, None) if a in face else 0 for a in range(found.ndim))] = values
    return found


# -- histograms ------------------------------------------------------------------------------------


def histogram(
    design: FourierDesign,
    rows: Sequence[tuple[int, int]],
    counts: Sequence[float],
    moments: dict[Any, Sequence[float]] | None = None,
) -> Histogram:
    """From reports with their numbers; moments as in `Rows`. Counts may be fractions if their
    sums per family are whole."""
    family, phase = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    given = {pair: np.asarray(values, dtype=float) for pair, values in (moments or {}).items()}
    return Histogram.of(len(design.table.shares), (family, phase), np.asarray(counts), given)


def counted(design: FourierDesign, reports: Reports) -> Histogram:
    """The histogram of reports, all families at once."""
    family, phase = (np.asarray(reports.columns[c]).astype(np.int64) for c in design.plan.columns)
    span = int(design.table.phases.max())
    keys, counts = np.unique(family * span + phase, return_counts=True)
    return histogram(design, np.stack([keys // span, keys % span], axis=1), counts)


def asked(design: FourierDesign) -> list[BoxQuery]:
    """Two counts of overlapping boxes, and a sum where there is a measure."""
    wide = Box(tuple(((0, size - 1),) for size in design.domain.sizes))
    thin = Box((((1, design.domain.sizes[0]),), *(None for _ in design.domain.sizes[1:])))
    found = [LinearQuery.count(wide), LinearQuery.count(thin)]
    found += [LinearQuery.sum(k, wide) for k in range(len(design.domain.bounds))]
    return [design.prepare(query) for query in found]


def single_answers(design: FourierDesign, planned: Sequence[BoxQuery]) -> np.ndarray:
    """What one report alone is answered, for every report, shape (reports, queries)."""
    found = []
    for row in outputs(design):
        estimator = design.estimator(histogram(design, [row], [1]))
        found.append([query.known + estimator._estimate_rest(query) for query in planned])
    return np.array(found)


def records(design: FourierDesign) -> list[Outcome]:
    """Every record: codes, then signs."""
    domain = design.domain
    return list(product(*map(range, (*domain.sizes, *(2 for _ in domain.bounds)))))


def expected(design: FourierDesign, people: dict[Outcome, float], total: float) -> Histogram:
    """The mean histogram of `total` people whose records have the given frequencies.

    total x every family's probability must be whole.
    """
    matrix = channel(design)
    place = {element: i for i, element in enumerate(elements(design.group))}
    widths = [design.group.width(axis) for axis in range(design.group.dimensions)]
    share = np.zeros(matrix.shape[1])
    for record, frequency in people.items():
        binned = [code // w for code, w in zip(record, widths, strict=False)]
        share[place[(*binned, *record[len(widths) :])]] += frequency
    return histogram(design, outputs(design), total * (matrix @ share))


HAND_MADE = by_hand()
"""For all tests that take them as they are."""
