"""An attack on shuffled batches by somebody who knows what everybody else holds.

Of two records the attacker asks which one the last person of a batch holds, whose others all hold a
third. The likelihood ratio of a batch with reports y is

    sum of P0(y) / Pz(y)  over  sum of P1(y) / Pz(y),

whoever sent which, and by Neyman and Pearson no event tells more than those where it is large. A
threshold is chosen on a quarter of the batches, and the others bound its two probabilities.

Beside every mechanism stands one that is broken: its devices have twice the local epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np

from benchmarks.tables import print_table
from ldpsql.algebra.numerics import Array, bound_probability
from ldpsql.audit.exact import domain_of_codes
from ldpsql.estimators.base import AnyDesign, Auditor
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import Law, Outcome, enumerate_law
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.shuffled import Central
from ldpsql_lab.audit.sampling import ALPHA, row_keys
from ldpsql_lab.simulation import SeededEntropy

BATCHES, PEOPLE = 1_000_000, 50
PROMISE = Central(Epsilon.parse("1"), Fraction(1, 100 * PEOPLE), PEOPLE)
CASES = (
    *(("grr", "4"), ("fourier", "6"), ("staircase", "4"), ("olh", "4"), ("oue", "4")),
    *(("hrr", "4"), ("hgrr", "4"), ("arr-ss", "2x2"), ("srr-ss", "2x2")),
)
"""Mechanisms, and the domains of which they collect counts."""

_AT_ONCE = 1 << 20
"""Reports that are drawn together."""
_THRESHOLDS = 400


def run(batches: int = BATCHES) -> None:
    """Print the table."""
    print_table(
        f"Batches of {PEOPLE} whose other people are known, {batches:,} of each record",
        (
            *("mechanism", "codes", "epsilon", "local", "at least", "in the event", "of the other"),
            *("broken: local", "at least", "found"),
        ),
        (_row(name, shape, batches) for name, shape in CASES),
    )


def _row(name: str, shape: str, batches: int) -> tuple[object, ...]:
    design, entropy = design_of(name, shape), SeededEntropy(1)
    sound, broken = (
        (each, tell_apart(each, PROMISE, batches, entropy)) for each in (design, weaken(design))
    )
    return (
        *(name, shape.replace("x", " x "), PROMISE.epsilon, design.epsilon),
        *(f"{sound[1].epsilon_at_least:.3f}", f"{sound[1].seen:,}", f"{sound[1].seen_other:,}"),
        *(broken[0].epsilon, f"{broken[1].epsilon_at_least:.3f}"),
        "yes" if broken[1].epsilon_at_least > float(PROMISE.epsilon) else "no",
    )


def design_of(name: str, shape: str) -> AnyDesign:
    """With the largest local epsilon that keeps the promise."""
    return mechanism(name).design(domain_of_codes(shape, 0), PROMISE, {})


def weaken(design: AnyDesign) -> AnyDesign:
    """The same mechanism with twice the local epsilon."""
    return mechanism(design.name).design(design.domain, Epsilon(2 * design.epsilon.value), {})


@dataclass(frozen=True)
class ToldApart:
    """What an attacker who knows the others learns of a batch.

    epsilon_at_least: a lower bound of the batch's epsilon at the promised delta, at least 0, too
    high with probability at most ALPHA.  record, other: told apart.  known: what the others hold.
    seen, seen_other: how many of `trials` batches of each were in the event.
    """

    epsilon_at_least: float
    record: Outcome
    other: Outcome
    known: Outcome
    trials: int
    seen: int
    seen_other: int


def tell_apart(design: Auditor, central: Central, batches: int, entropy: Entropy) -> ToldApart:
    """Attack so many batches of `central.people` reports, drawn by the device code.

    The law of the design's plan is enumerated; ValueError where it is too large.
    """
    law = enumerate_law(design.plan)
    chances = np.array([list(map(float, row)) for row in law.probabilities])
    first, second, known = _choose_records(chances)
    ratios = chances[[first, second]] / chances[known]
    draw = _Batches(design, law, ratios, entropy)
    others = draw.sums(known, batches, central.people - 1)
    # Batches of the one and of the other have the same others: each is bounded for itself.
    logs = np.stack([_log_ratio(others + draw.sums(own, batches, 1)) for own in (first, second)])
    chosen, rest = logs[:, : batches // 4], logs[:, batches // 4 :]
    delta, best = float(central.delta), (-math.inf, 0, 0.0)
    for sign in (1, -1):
        levels = np.quantile(sign * chosen, 1.0 - np.geomspace(1e-4, 0.5, _THRESHOLDS))
        for level in np.unique(levels).tolist():
            found = _bound(*_count(sign * chosen[::sign], level), batches // 4, delta)
            best = max(best, (found, sign, level))
    _, sign, level = best
    seen = _count(sign * rest[::sign], level)
    names = (law.inputs[first], law.inputs[second])[::sign]
    found = _bound(*seen, rest.shape[1], delta)
    return ToldApart(max(0.0, found), *names, law.inputs[known], rest.shape[1], *seen)


def _choose_records(chances: Array) -> tuple[int, int, int]:
    """Two records and what the others hold, which hides them least: where the sum of
    (P0 - P1)^2 / Pz is largest. The others hold neither where there is a third record."""
    rows = range(len(chances))
    scores = {
        (one, other, known): float(((chances[one] - chances[other]) ** 2 / chances[known]).sum())
        for one, other in permutations(rows, 2)
        for known in rows
        if len(rows) < 3 or known not in (one, other)
    }
    return max(scores, key=lambda each: round(scores[each], 9))


@dataclass(frozen=True)
class _Batches:
    """Draws batches as what an attacker makes of them.  ratios: of the two records' laws to that
    of the others, shape (2, outputs)."""

    design: Auditor
    law: Law
    ratios: Array
    entropy: Entropy

    def sums(self, record: int, batches: int, people: int) -> Array:
        """The sums of the ratios over the reports of so many people in a batch, who hold a record,
        shape (2, batches)."""
        keys = row_keys(np.array(self.law.outputs, dtype=np.uint64))
        order, own = np.argsort(keys), np.array(self.law.inputs[record], dtype=np.int64)
        step, parts = max(1, _AT_ONCE // people), []
        for start in range(0, batches, step):
            count = min(step, batches - start)
            columns = self.design.randomize(np.tile(own, (count * people, 1)), self.entropy).columns
            drawn = row_keys(np.stack(list(columns.values()), axis=1, dtype=np.uint64))
            numbers = order[np.searchsorted(keys[order], drawn)].reshape(count, people)
            parts.append(self.ratios[:, numbers].sum(axis=2))
        return np.concatenate(parts, axis=1)


def _log_ratio(sums: Array) -> Array:
    return np.asarray(np.log(sums[0]) - np.log(sums[1]))


def _count(logs: Array, level: float) -> tuple[int, int]:
    """How many batches of each are in the event."""
    one, other = (logs >= level).sum(axis=1).tolist()
    return one, other


def _bound(seen: int, seen_other: int, trials: int, delta: float) -> float:
    """A lower bound of epsilon: P <= e^epsilon P' + delta for every event."""
    low, _ = bound_probability(seen, trials, ALPHA / 2)
    _, high = bound_probability(seen_other, trials, ALPHA / 2)
    return math.log((low - delta) / high) if low > delta else -math.inf
