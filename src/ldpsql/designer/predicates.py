"""How many predicates the queries of a workload may have: the most that can be designed for, the
default, and what further ones cost.

Costs are those of ideal designs, which put their information where it is wanted and nowhere else:
a class of queries asks every face of the frequencies in one shape, so a design is one share of the
information per face. Source: docs/spec/fourier.md#2.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DEFAULT_PREDICATES, QueryClass, Workload, spectrum
from ldpsql.mechanisms.fourier.group import LARGEST_BLOCK, MOST_TOGETHER, Integers, Reals, parts_of

MOST_SETS, SMALL_BINS = 2000, 64
MOST_PAIRED = 10
"""Of more dimensions, questions about one at a time are the default."""
_MOST_SHOWN = 5
_TURNS, _CLOSE = 200, 1.01


def default_predicates(domain: RecordDomain) -> int:
    """How many predicates a query may have where nobody says it: every pair of dimensions is a
    class of queries, which share the information of a report."""
    return DEFAULT_PREDICATES if len(domain.asked) <= MOST_PAIRED else 1


def largest_predicates(domain: RecordDomain, most: int) -> int:
    """The largest number of predicates, at most so many, for which a survey of everything can be
    designed: for so many sets of dimensions, and so many cells in all, dimensions in bins where
    they may be. SurveyError where it is none.
    """
    cells = [min(domain.sizes[i], max(SMALL_BINS, domain.unordered_codes(i))) for i in domain.asked]
    targets = max(len(domain.bounds) + len(domain.nullable), 1)
    signs = max(2 if domain.bounds else 1, *domain.sizes[domain.first_level_axis :], 1)
    for chosen in range(min(most, len(cells)), 1, -1):
        sets = math.comb(len(cells), chosen)
        # The elementary symmetric polynomial: the sum over all sets of the products of their cells.
        sums = [1, *[0] * chosen]
        for size in cells:
            for degree in range(chosen, 0, -1):
                sums[degree] += sums[degree - 1] * size
        largest = math.prod(sorted(cells)[-chosen:]) * signs
        if (
            sets * targets <= MOST_SETS
            and largest <= LARGEST_BLOCK
            and sums[chosen] * signs * targets <= MOST_TOGETHER
        ):
            return chosen
    return min(most, 1)


def find_costs(workload: Workload, *, is_fair: bool) -> Mapping[int, float]:
    """By the number of predicates that queries may have: the expected error of a count with one
    predicate, as a multiple of what it is in a survey for this workload.

    For a workload of classes alone; empty for any other, and where dimensions are too few. Numbers
    for which nothing can be designed are left out.
    """
    first = workload.domain.first_level_axis
    asked = [[pair for pair in entry.predicates if pair[0] < first] for entry in workload.classes]
    kinds = dict(pair for pairs in asked for pair in pairs)
    own = max(map(len, asked), default=0)
    if workload.queries or len(kinds) < 2:
        return {}
    errors = {}
    for most in range(1, min(len(kinds), max(_MOST_SHOWN, own)) + 1):
        if most == own or largest_predicates(workload.domain, most) == most:
            everyday = Workload.everyday(workload.domain, kinds, most)
            shares = Shares.of(everyday.classes, workload.domain)
            variances = shares.variances(shares.weigh_fairly() if is_fair else shares.weights)
            singles = [
                variance
                for entry, variance in zip(everyday.classes, variances.tolist(), strict=True)
                if len(entry.predicates) == 1 and entry.measure is None
            ]
            errors[most] = math.sqrt(sum(singles) / len(singles))
    return {most: error / errors[own] for most, error in errors.items()}


@dataclass(frozen=True)
class Shares:
    """The variances of classes of queries, by the faces of the frequencies that they ask.

    weights: of the classes.  owners, faces, amounts: entry by entry, a class, a face that it asks,
    and its variance there if the design had this face alone; in units of one report's information.
    """

    weights: Reals
    owners: Integers
    faces: Integers
    amounts: Reals

    @classmethod
    def of(cls, classes: Sequence[QueryClass], domain: RecordDomain) -> Shares:
        """Of some classes over a domain."""
        roots: dict[tuple[int, str], tuple[float, float]] = {}
        numbers: dict[tuple[tuple[int, ...], int | None], int] = {}
        owners, faces, amounts = [], [], []
        for owner, entry in enumerate(classes):
            for axis, kind in entry.predicates:
                if (axis, kind) not in roots:
                    powers = spectrum(kind, domain.sizes[axis], domain.sizes[axis])
                    roots[axis, kind] = math.sqrt(powers[0]), float(np.sqrt(powers[1:]).sum())
            kinds = dict(entry.predicates)
            for part in parts_of((tuple(kinds),)):
                if part or entry.measure is not None:
                    own = [roots[axis, kind][axis in part] for axis, kind in kinds.items()]
                    owners.append(owner)
                    faces.append(numbers.setdefault((part, entry.measure), len(numbers)))
                    amounts.append(math.prod(own) ** 2)
        weights = np.array([entry.weight for entry in classes])
        return cls(weights, np.array(owners), np.array(faces), np.array(amounts))

    def variances(self, weights: Reals) -> Reals:
        """Of each class in the design that is best for these weights."""
        # A face with the share l of a report's information has the variance d / l. The sum of d / l
        # over the faces, the l adding up to 1, is least for l in proportion to the root of d
        # (Lagrange): one step, with no search.
        wanted = np.sqrt(np.bincount(self.faces, weights[self.owners] * self.amounts))
        known = wanted / wanted.sum()
        found = np.bincount(self.owners, self.amounts / known[self.faces], len(weights))
        return np.asarray(found, dtype=np.float64)

    def weigh_fairly(self) -> Reals:
        """The weights under which the largest ratio of a class's variance to what it could have
        alone is the least."""
        # Alone, a class has the square of the sum of its roots, by the same formula.
        best = np.bincount(self.owners, np.sqrt(self.amounts), len(self.weights)) ** 2
        shares = np.full(len(best), 1.0 / len(best))
        for _ in range(_TURNS):
            ratios = self.variances(shares / best) / best
            # By duality no design's largest ratio is below this mean one. A class with a larger
            # ratio counts more in the next turn.
            if ratios.max() <= _CLOSE * float(shares @ ratios):
                break
            shares = shares * ratios / float(shares @ ratios)
        return np.asarray(shares / best)
