"""Weights of a workload's classes by what each could have alone.

Pairs of large dimensions have much larger errors than a single small one, so a mean of variances is
theirs alone. Here a class counts in units of its own best variance, and classes that stay furthest
from it count more, until the largest distance from the own best is about the least that is
possible: by duality, for weights that sum to 1 no design over the same candidates has a largest
ratio below the least mean of the ratios under these weights. Sources: docs/spec/fourier.md#1.3 and
docs/spec/fourier.md#2.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ldpsql.algebra.least_error import sign_bound
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import RATIO_COUNT, RATIO_SUM, Kind, QueryClass, Workload
from ldpsql.designer.forecast import Forecast, draw_classes, sample_queries
from ldpsql.designer.predicates import Shares
from ldpsql.estimators.base import AnyDesign
from ldpsql.mechanisms.fourier.candidates import Dictionary
from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Group, Integers, Reals
from ldpsql.mechanisms.fourier.optimise import DesignProblem, find_equality_axes
from ldpsql.mechanisms.fourier.recipe import DEFAULT_BINS, find_fitting_group
from ldpsql.mechanisms.fourier.spectra import class_power
from ldpsql.mechanisms.staircase.bound_of_totals import least_variance
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

_MOST_FACES, _MOST_CELLS = 60, 1 << 22
"""For larger groups weights are those of ideal designs."""
_SAMPLE = 48
_TURNS, _STEPS, _CLOSE, _FAINT = 60, 4, 1.005, 1e-3
_MOST_SECONDS = 10.0
"""Roughly, for all turns: each comes closer than the weights of ideal designs do."""


def ask_alone(entry: QueryClass, domain: RecordDomain) -> Workload:
    """A class as all that is asked, over what it asks about alone."""
    axes = [axis for axis, _ in entry.predicates]
    names = tuple(domain.names[axis] for axis in axes)
    sizes = tuple(domain.sizes[axis] for axis in axes)
    bounds = () if entry.measure is None else ((-1.0, 1.0),)
    nullable = tuple(
        domain.nullable[axis - domain.first_level_axis]
        for axis in axes
        if axis >= domain.first_level_axis
    )
    alone = RecordDomain(
        names, sizes, ("m",) * len(bounds), bounds, (None,) * len(bounds), nullable=nullable
    )
    kinds = tuple((place, kind) for place, (_, kind) in enumerate(entry.predicates))
    renamed = QueryClass(1.0, kinds, 0 if bounds else None)
    return Workload(alone, (renamed,), (), max(len(axes), 1))


def own_best(entry: QueryClass, domain: RecordDomain, epsilon: Epsilon) -> float:
    """The least variance per person of a class that is asked alone, by the bound of its cells; of a
    sum among mechanisms that round measures to their bounds, as those do that can be weighed."""
    least = sign_bound(ask_alone(entry, domain), epsilon)
    return math.inf if least is None else least


@dataclass(frozen=True)
class Distance:
    """How far a class of queries is from what it could have alone.

    text, group: the class, and a coarser one, as in `SampledQueries`.  ratio: of its expected
    standard error to the least that a survey of this class alone could have.
    """

    text: str
    group: str
    ratio: float


def find_distances(
    design: AnyDesign, workload: Workload, epsilon: Epsilon, people: int
) -> tuple[Distance, ...]:
    """The distance of every class from the least that any survey of it alone could have.

    Over a sample of its queries, and of a sample of classes where they are many. SurveyError where
    the design does not answer one.
    """
    classes = [
        replace(entry, weight=1.0)
        for entry in draw_classes(workload.classes)
        if entry.predicates or entry.measure is not None
    ]
    samples = [
        sample_queries(replace(workload, classes=(entry,), queries=()), _SAMPLE)
        for entry in classes
    ]
    forecast = Forecast.of(design, [own for (own,) in samples], people)
    domain = design.domain
    found = zip(forecast.samples, forecast.variances, classes, strict=True)
    distances = []
    for sample, variance, entry in found:
        if least := least_variance(ask_alone(entry, domain), epsilon):
            ratio = math.sqrt(variance / (people * least))
            distances.append(Distance(sample.text, sample.group, ratio))
    return tuple(distances)


def weigh_fairly(workload: Workload, epsilon: Epsilon) -> Workload:
    """The workload with fair weights of its classes, which keep their share of the whole.

    A class without private predicates or measures is known exactly and keeps its own weight. The
    number of people who have a value of a measure is wanted for its mean, and counts beside its sum
    as it does there.
    """
    every = tuple(e for e in workload.classes if e.predicates or e.measure is not None)
    means = {_as_sum(entry): entry for entry in every if _as_sum(entry) != entry.predicates}
    asked = tuple(entry for entry in every if entry not in means.values())
    if len(asked) < 2:
        return workload
    classes = _reweigh(asked, Shares.of(asked, workload.domain).weigh_fairly())
    try:
        group = find_fitting_group(workload.domain, workload, DEFAULT_BINS)
        cells = sum(group.cells(block) for block in group.blocks)
    except SurveyError:  # so many codes that no design on circles takes them
        group, cells = None, 0
    if group is not None and len(group.faces) <= _MOST_FACES and cells <= _MOST_CELLS:
        best = np.array([own_best(entry, workload.domain, epsilon) for entry in classes])
        listed = find_equality_axes(workload)
        classes = _reweigh(asked, _balance(classes, group, best, float(epsilon.odds), listed))
    if means:
        sums = [entry for entry in classes if entry.predicates in means]
        beside = [entry.weight * RATIO_COUNT / RATIO_SUM for entry in sums]
        own = np.array([*(entry.weight for entry in classes), *beside])
        classes = _reweigh((*classes, *(means[entry.predicates] for entry in sums)), own)
    known = (entry for entry in workload.classes if entry not in every)
    return replace(workload, classes=(*known, *classes))


def _as_sum(entry: QueryClass) -> tuple[tuple[int, Kind], ...]:
    """The predicates of the sum of a measure over whose values a class counts; its own for any
    other class."""
    return tuple((axis, "level" if kind == "present" else kind) for axis, kind in entry.predicates)


def _reweigh(classes: tuple[QueryClass, ...], weights: Reals) -> tuple[QueryClass, ...]:
    """The classes with weights in these proportions, whose sum stays."""
    weights = weights * (sum(entry.weight for entry in classes) / weights.sum())
    return tuple(
        replace(entry, weight=weight)
        for entry, weight in zip(classes, weights.tolist(), strict=True)
    )


def _balance(
    classes: tuple[QueryClass, ...],
    group: Group,
    best: Reals,
    odds: float,
    listed: frozenset[int],
) -> Reals:
    """The weights under which the largest ratio of a class's variance to its own best is close to
    the least: a few steps of the design, and more weight for those with a larger ratio, in turns.

    classes: with the weights to begin with.  best: of every class.  listed: see `Dictionary`.
    Classes whose error others determine end with little weight.
    """
    folding = Folding(group)
    spectra = [_fold(entry, group, folding) for entry in classes]
    needed = np.zeros(folding.classes + 1)
    for entry, (numbers, power) in zip(classes, spectra, strict=True):
        needed[numbers] += entry.weight * power
    components = Dictionary(folding, needed, odds, listed).components()
    problem = DesignProblem(folding, needed, 0.0, components)
    shares = np.array([entry.weight for entry in classes]) * best
    shares = shares / shares.sum()
    weights, found = problem.start(), shares
    least = math.inf
    for _ in range(min(_TURNS, 1 + int(_MOST_SECONDS / (_STEPS * problem.cost)))):
        total = np.zeros(len(needed))
        for weight, (numbers, power) in zip((shares / best).tolist(), spectra, strict=True):
            total[numbers] += weight * power
        weights = replace(problem, demand=total).solve(weights, _STEPS)
        known = problem.information(weights)
        sizes = folding.multiplicity
        # Of a class, per person: the sum over frequencies of its energy times 1 / lambda - 1, what
        # the noise leaves of each (docs/spec/fourier.md#2.1).
        variances = np.array(
            [float((sizes[c] * power * (1.0 / known[c] - 1.0)).sum()) for c, power in spectra]
        )
        ratios = variances / best
        if ratios.max() < least:
            found, least = shares, float(ratios.max())
        if math.sqrt(float(ratios.max()) / float(shares @ ratios)) <= _CLOSE:
            break
        shares = np.maximum(shares * ratios, _FAINT / len(best))
        shares /= shares.sum()
    return np.asarray(found / best)


def _fold(entry: QueryClass, group: Group, folding: Folding) -> tuple[Integers, Reals]:
    """Numbers of the classes of frequencies that a class of queries asks, and its demand there."""
    numbers, powers = [], []
    for face, power in class_power(replace(entry, weight=1.0), group):
        own = folding.numbers(face)[(slice(1, None),) * len(face)]
        numbers.append(own.ravel())
        powers.append(power[tuple(map(slice, own.shape))].ravel())
    return np.concatenate(numbers), np.concatenate(powers)
