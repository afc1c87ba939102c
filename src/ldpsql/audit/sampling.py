"""Public. Sees parameters. The device code at work on made-up records.

The reports of a record are split: on a quarter of them an event (a set of reports) is chosen for
each pair of records, on the next the pair whose event tells most, and the other half bounds its
two probabilities. What is chosen is independent of what bounds it, so the bound holds whatever
the choice. Any function of a report can only lose information, so rare reports are pooled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ldpsql.audit.channel import Channel
from ldpsql.audit.definitions import Definition
from ldpsql.audit.result import Empirical
from ldpsql.mechanisms.base import Design, Entropy, Outcome
from ldpsql.numerics import lower_probability, upper_probability
from ldpsql_device.schema import RecordDomain

ALPHA = 1e-6
_MOST_RECORDS = 16
_MOST_REPORTS = 1 << 24
_LARGEST_CALL = 1 << 16
_QUARTERS = 4
_FEWEST_CALLS = 4 * _QUARTERS
_RARE = 20
_CAUTION = NormalDist().inv_cdf(1.0 - ALPHA / 2)
_MULTIPLIER = 0x9E3779B97F4A7C15

Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Reports of several records, each as one 64-bit number.

    keys: shape (records, calls, reports per call); equal reports have equal keys.
    """

    design: Design
    records: tuple[Outcome, ...]
    keys: Keys

    @property
    def reports(self) -> int:
        """Reports per record."""
        calls, size = self.keys.shape[1:]
        return int(calls * size)


@dataclass(frozen=True)
class Telling:
    """A pair of records, and how well an event chosen for it told them apart elsewhere.

    counts: in the last half, how often each of the two reports fell into the event.
    """

    score: float
    drawn: Drawn
    record: Outcome
    other: Outcome
    counts: tuple[int, int]


def sample(design: Design, channel: Channel | None, reports: int, entropy: Entropy) -> Empirical:
    """Run the device code of the design, and of its enumerated smaller one if there is one.

    reports: per record, at least; rounded up to whole calls of the device code.
    """
    drawn = [] if channel is None else [_draw(channel.design, channel.records, reports, entropy)]
    if channel is None or channel.design is not design:
        drawn.append(_draw(design, corners(design.domain), reports, entropy))
    tellings = [_most_telling(one) for one in drawn]
    if channel is not None and len(drawn[0].records) > 1:
        tellings.append(_worst_by_law(drawn[0], channel))
    best = max(tellings, key=lambda telling: telling.score)
    trials = best.drawn.reports // 2
    seen, seen_other = best.counts
    allowed = float(design.guarantee.delta)
    low = lower_probability(seen, trials, ALPHA / 2) - allowed
    high = upper_probability(seen_other, trials, ALPHA / 2)
    pairs, equal, expected, dependent = _agreement(drawn[0], channel)
    return Empirical(
        best.drawn.design.domain,
        best.drawn.reports,
        ALPHA,
        max(0.0, math.log(low / high)) if low > 0 else 0.0,
        best.record,
        best.other,
        trials,
        seen,
        seen_other,
        pairs,
        equal,
        expected,
        dependent,
    )


def corners(domain: RecordDomain) -> tuple[Outcome, ...]:
    """Records far apart: the lowest and the highest sensitive codes, the lowest and the highest of
    all, and those that differ from the lowest in one place, as far as they go."""
    held = [domain.sensitive_codes(j) for j in range(len(domain.sizes))]
    low, high = (
        (*(codes[end] for codes in held), *(sign for _ in domain.bounds))
        for end, sign in ((0, 0), (-1, 1))
    )
    tops = (*(size - 1 for size in domain.sizes), *(1 for _ in domain.bounds))
    zeros = (0,) * len(tops)
    single = (
        (*zeros[:place], code, *zeros[place + 1 :])
        for place, top in enumerate(tops)
        for code in (top, 1)
        if top >= 1
    )
    return tuple(dict.fromkeys([low, high, zeros, tops, *single]))


def _draw(design: Design, candidates: Sequence[Outcome], reports: int, entropy: Entropy) -> Drawn:
    """Reports of the first few candidates, in calls of equal size."""
    records = tuple(candidates[: max(2, min(_MOST_RECORDS, _MOST_REPORTS // reports))])
    calls = max(_FEWEST_CALLS, _QUARTERS * -(-reports // (_QUARTERS * _LARGEST_CALL)))
    size = -(-reports // calls)
    keys = [[_call(design, record, size, entropy) for _ in range(calls)] for record in records]
    return Drawn(design, records, np.array(keys, dtype=np.uint64))


def _call(design: Design, record: Outcome, size: int, entropy: Entropy) -> Keys:
    """The keys of `size` reports of one record."""
    codes = np.tile(np.array(record, dtype=np.int64), (size, 1))
    columns = design.randomize(codes, entropy).columns.values()
    return _key(np.stack([np.asarray(column).astype(np.uint64) for column in columns], axis=1))


def _key(rows: Keys) -> Keys:
    """One number per row: its columns times fixed odd numbers, modulo 2^64."""
    odd = [pow(_MULTIPLIER, place + 1, 1 << 64) for place in range(rows.shape[1])]
    keys: Keys = (rows * np.array(odd, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    return keys


def _most_telling(drawn: Drawn) -> Telling:
    """The pair of records whose event, chosen on the first quarter, tells most on the second.

    Of those whose first owner is protected against every other record: what others disclose breaks
    no promise.
    """
    choose, score, bound = _counts(drawn)
    best = Telling(-math.inf, drawn, drawn.records[0], drawn.records[0], (0, 0))
    definition = Definition(drawn.design.guarantee.kind, drawn.design.domain)
    for one, other in permutations(range(len(drawn.records)), 2):
        if not definition.protects(drawn.records[one]):
            continue
        event = _event(choose[one], choose[other])
        found = float(_score(score[one][event].sum(), score[other][event].sum()))
        if found > best.score:
            counts = int(bound[one][event].sum()), int(bound[other][event].sum())
            best = Telling(found, drawn, drawn.records[one], drawn.records[other], counts)
    return best


def _worst_by_law(drawn: Drawn, channel: Channel) -> Telling:
    """The pair of records and the reports that the exact channel tells apart best."""
    event = _key(np.array(channel.telling_reports, dtype=np.uint64))
    inside = np.isin(drawn.keys[:2], event)
    score, third, fourth = (inside[:, part::_QUARTERS].sum(axis=(1, 2)) for part in (1, 2, 3))
    one, other = (third + fourth).tolist()
    found = float(_score(score[0], score[1]))
    return Telling(found, drawn, drawn.records[0], drawn.records[1], (one, other))


def _counts(drawn: Drawn) -> tuple[Counts, Counts, Counts]:
    """How often each kind of report came, per record, in the first, second and last two quarters.

    The kinds are the reports that are not rare in the first quarter, and all others together.
    """
    quarters = [drawn.keys[:, part::_QUARTERS].reshape(len(drawn.records), -1) for part in range(4)]
    kinds, often = np.unique(quarters[0], return_counts=True)
    kinds = kinds[often >= _RARE]
    first, second, third, fourth = (_count(part, kinds) for part in quarters)
    return first, second, third + fourth


def _count(keys: Keys, kinds: Keys) -> Counts:
    if not len(kinds):
        return np.full((len(keys), 1), keys.shape[1], dtype=np.int64)
    place = np.minimum(np.searchsorted(kinds, keys), len(kinds) - 1)
    place = np.where(kinds[place] == keys, place, len(kinds))
    return np.array([np.bincount(row, minlength=len(kinds) + 1) for row in place])


def _event(one: Counts, other: Counts) -> NDArray[np.int64]:
    """The kinds of report that speak for `one`: those above some ratio of the two counts."""
    order = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
    scores = _score(np.cumsum(one[order]), np.cumsum(other[order]))
    return order[: int(np.argmax(scores)) + 1]


def _score(one: Counts, other: Counts) -> NDArray[np.float64]:
    """About the bound that the last half, twice as many reports, will give for two counts."""
    first, second = one + 1.0, other + 1.0
    spread: NDArray[np.float64] = 1.0 / np.sqrt(2.0 * first) + 1.0 / np.sqrt(2.0 * second)
    result: NDArray[np.float64] = np.log(first / second) - _CAUTION * spread
    return result


def _agreement(drawn: Drawn, channel: Channel | None) -> tuple[int, int, float, bool]:
    """Pairs of reports of one record, how many were equal, how many should be, and whether
    chance allows the difference.

    Half of the calls pair each report with its neighbour, the other half with the report in the
    same place of the next call; no report is in two pairs.
    """
    if channel is None:
        return 0, 0, 0.0, False
    keys = drawn.keys
    calls = keys[:, 0::4] == keys[:, 1::4]
    even = keys.shape[2] // 2 * 2
    inner = np.concatenate([keys[:, 2::4], keys[:, 3::4]], axis=1)[:, :, :even]
    neighbours = inner[:, :, 0::2] == inner[:, :, 1::2]
    pairs = calls.size + neighbours.size
    equal = int(calls.sum() + neighbours.sum())
    chances = [channel.chance_of_equal(record) for record in drawn.records]
    chance = math.fsum(chances) / len(chances)
    dependent = (
        not lower_probability(equal, pairs, ALPHA / 2)
        <= chance
        <= upper_probability(equal, pairs, ALPHA / 2)
    )
    return pairs, equal, chance * pairs, dependent
