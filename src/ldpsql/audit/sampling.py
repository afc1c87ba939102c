"""The device code at work on made-up records: corners of the domain, and random ones.

The reports of a record are split: on a quarter of them an event (a set of reports) is chosen for
each pair of records, on the next the pair whose event tells most, and the other half bounds its
two probabilities. What is chosen is independent of what bounds it, so the bound holds whatever
the choice. Any function of a report can only lose information, so rare reports are pooled.

Besides, how often reports came is compared with the exact law where it is enumerated, and with the
stated shares of the questions where it is not (Pearson's chi-square); and equal reports of one
record are counted, for entropy that is used again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ldpsql.audit.exact import Criterion, EnumeratedChannel
from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.law import Outcome
from ldpsql.numerics import Array, chi_square_tail, lower_probability, upper_probability
from ldpsql.record_domain import RecordDomain
from ldpsql.report import question_shares
from ldpsql_device.entropy import Entropy

ALPHA = 1e-6
_MOST_RECORDS, _RANDOM_RECORDS = 16, 4
_MOST_REPORTS = 1 << 24
_LARGEST_CALL = 1 << 16
_QUARTERS = 4
_FEWEST_CALLS = 4 * _QUARTERS
_RARE = 20
_FEWEST_EXPECTED = 8.0
_CAUTION = NormalDist().inv_cdf(1.0 - ALPHA / 2)
_MULTIPLIER = 0x9E3779B97F4A7C15

Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Empirical:
    """What the device code did on made-up records.

    domain: of the design that ran.  reports: per record.  epsilon: lower bound, >= 0, too high
    with probability at most alpha.  record, other: the two records told apart.  seen, seen_other:
    how many of `trials` reports of each fell into the event.
    pairs, equal: pairs of reports of one record that were compared, and how many were equal;
    expected: how many would be if every report were drawn anew.  dependent: whether equal
    is further from that than chance allows, except with probability alpha.
    fit: probability that reports of the law, or questions of their shares, are as far from what is
    expected as these of the worst record, at most.
    """

    domain: RecordDomain
    reports: int
    alpha: float
    epsilon: float
    record: Outcome
    other: Outcome
    trials: int
    seen: int
    seen_other: int
    pairs: int
    equal: int
    expected: float
    dependent: bool
    fit: float

    @property
    def follows_law(self) -> bool:
        """Whether reports came as often as they should."""
        return self.fit >= self.alpha


@dataclass(frozen=True)
class _Sample:
    """Reports of several records, each as one 64-bit number.

    keys: shape (records, calls, reports per call); equal reports have equal keys.  questions: how
    often each was drawn, shape (records, questions).
    """

    design: Design
    records: tuple[Outcome, ...]
    keys: Keys
    questions: Counts

    @property
    def reports(self) -> int:
        """Reports per record."""
        calls, size = self.keys.shape[1:]
        return int(calls * size)


@dataclass(frozen=True)
class _Telling:
    """A pair of records, and how well an event chosen for it told them apart elsewhere.

    counts: in the last half, how often each of the two reports fell into the event.
    """

    score: float
    sample: _Sample
    record: Outcome
    other: Outcome
    counts: tuple[int, int]


def run_device(
    design: Design, channel: EnumeratedChannel | None, reports: int, entropy: Entropy
) -> Empirical:
    """Run the device code of the design, and of its enumerated smaller one if there is one.

    reports: per record, at least; rounded up to whole calls of the device code.
    """
    samples = [] if channel is None else [_draw(channel.design, channel.records, reports, entropy)]
    if channel is None or channel.design is not design:
        ends, others = corners(design.domain), random_records(design.domain, entropy)
        records = tuple(dict.fromkeys([*ends[: _MOST_RECORDS - len(others)], *others]))
        samples.append(_draw(design, records, reports, entropy))
    tellings = [_most_telling(sample) for sample in samples]
    if channel is not None and len(samples[0].records) > 1:
        tellings.append(_worst_by_law(samples[0], channel))
    best = max(tellings, key=lambda telling: telling.score)
    trials = best.sample.reports // 2
    seen, seen_other = best.counts
    # P <= e^epsilon P' + delta for every event, so log((P - delta) / P') is at most epsilon.
    allowed = float(design.guarantee.delta)
    low = lower_probability(seen, trials, ALPHA / 2) - allowed
    high = upper_probability(seen_other, trials, ALPHA / 2)
    pairs, equal, expected, dependent = _count_equal(samples[0], channel)
    fits = [_fit_of_questions(sample) for sample in samples]
    if channel is not None:
        fits.append(_fit_of_reports(samples[0], channel))
    return Empirical(
        best.sample.design.domain,
        best.sample.reports,
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
        min(1.0, len(fits) * min(fits)),
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


def random_records(domain: RecordDomain, entropy: Entropy) -> tuple[Outcome, ...]:
    """A few records from anywhere in the domain."""
    random = np.random.default_rng(entropy.words(2))
    limits = (*domain.sizes, *(2 for _ in domain.bounds))
    rows = random.integers(0, limits, (_RANDOM_RECORDS, len(limits)))
    return tuple(dict.fromkeys(map(tuple, rows.tolist())))


def _draw(design: Design, candidates: Sequence[Outcome], reports: int, entropy: Entropy) -> _Sample:
    """Reports of the first few candidates, in calls of equal size."""
    records = tuple(candidates[: max(2, min(_MOST_RECORDS, _MOST_REPORTS // reports))])
    calls = max(_FEWEST_CALLS, _QUARTERS * -(-reports // (_QUARTERS * _LARGEST_CALL)))
    size = -(-reports // calls)
    questions = np.zeros((len(records), len(design.report_format.limits)), dtype=np.int64)
    keys = np.empty((len(records), calls, size), dtype=np.uint64)
    for number, record in enumerate(records):
        codes = np.tile(np.array(record, dtype=np.int64), (size, 1))
        for call in range(calls):
            columns = list(design.randomize(codes, entropy).columns.values())
            rows = np.stack([np.asarray(column).astype(np.uint64) for column in columns], axis=1)
            keys[number, call] = _key(rows)
            drawn = np.asarray(columns[0]).astype(np.int64)
            questions[number] += np.bincount(drawn, minlength=questions.shape[1])
    return _Sample(design, records, keys, questions)


def _key(rows: Keys) -> Keys:
    """One number per row: its columns times fixed odd numbers, modulo 2^64."""
    odd = [pow(_MULTIPLIER, place + 1, 1 << 64) for place in range(rows.shape[1])]
    keys: Keys = (rows * np.array(odd, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    return keys


# -- the event that tells most --------------------------------------------------------------------


def _most_telling(sample: _Sample) -> _Telling:
    """The pair of records whose event, chosen on the first quarter, tells most on the second.

    Of those whose first owner is protected against every other record: what others disclose breaks
    no promise.
    """
    choose, score, bound = _count_quarters(sample)
    best = _Telling(-math.inf, sample, sample.records[0], sample.records[0], (0, 0))
    definition = Criterion(sample.design.guarantee.kind, sample.design.domain)
    for one, other in permutations(range(len(sample.records)), 2):
        if not definition.protects(sample.records[one]):
            continue
        event = _choose_event(choose[one], choose[other])
        told = float(_score(score[one][event].sum(), score[other][event].sum()))
        if told > best.score:
            counts = int(bound[one][event].sum()), int(bound[other][event].sum())
            best = _Telling(told, sample, sample.records[one], sample.records[other], counts)
    return best


def _worst_by_law(sample: _Sample, channel: EnumeratedChannel) -> _Telling:
    """The pair of records and the reports that the exact channel tells apart best."""
    event = _key(np.array(channel.telling_reports, dtype=np.uint64))
    inside = np.isin(sample.keys[:2], event)
    score, third, fourth = (inside[:, part::_QUARTERS].sum(axis=(1, 2)) for part in (1, 2, 3))
    one, other = (third + fourth).tolist()
    told = float(_score(score[0], score[1]))
    return _Telling(told, sample, sample.records[0], sample.records[1], (one, other))


def _count_quarters(sample: _Sample) -> tuple[Counts, Counts, Counts]:
    """How often each kind of report came, per record, in the first, second and last two quarters.

    The kinds are the reports that are not rare in the first quarter, and all others together.
    """
    first, second, third, fourth = (
        sample.keys[:, part::_QUARTERS].reshape(len(sample.records), -1) for part in range(4)
    )
    kinds, often = np.unique(first, return_counts=True)
    kinds = kinds[often >= _RARE]
    return (
        _count(first, kinds),
        _count(second, kinds),
        _count(third, kinds) + _count(fourth, kinds),
    )


def _count(keys: Keys, kinds: Keys) -> Counts:
    """How often each of the ascending kinds came, and others, shape (records, kinds + 1)."""
    if not len(kinds):
        return np.full((len(keys), 1), keys.shape[1], dtype=np.int64)
    place = np.minimum(np.searchsorted(kinds, keys), len(kinds) - 1)
    place = np.where(kinds[place] == keys, place, len(kinds))
    return np.array([np.bincount(row, minlength=len(kinds) + 1) for row in place])


def _choose_event(one: Counts, other: Counts) -> NDArray[np.int64]:
    """The kinds of report that speak for `one`: those above some ratio of the two counts."""
    order = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
    scores = _score(np.cumsum(one[order]), np.cumsum(other[order]))
    return order[: int(np.argmax(scores)) + 1]


def _score(one: Counts, other: Counts) -> Array:
    """About the bound that the last half, twice as many reports, will give for two counts: the log
    of their ratio, less as many standard errors of each as the bound will take off."""
    first, second = one + 1.0, other + 1.0
    spread: Array = 1.0 / np.sqrt(2.0 * first) + 1.0 / np.sqrt(2.0 * second)
    result: Array = np.log(first / second) - _CAUTION * spread
    return result


# -- the law --------------------------------------------------------------------------------------


def _fit_of_reports(sample: _Sample, channel: EnumeratedChannel) -> float:
    """Of all records together, whether their reports follow the enumerated law."""
    keys = _key(np.array(channel.law.outputs, dtype=np.uint64))
    order = np.argsort(keys)
    counts = _count(sample.keys.reshape(len(sample.records), -1), keys[order])
    fits = [
        _fit(row, np.append(channel.chances(record)[order], 0.0))
        for record, row in zip(sample.records, counts, strict=True)
    ]
    return min(1.0, len(fits) * min(fits))


def _fit_of_questions(sample: _Sample) -> float:
    """Whether questions come as often as the design says, whoever is asked."""
    shares = question_shares(sample.design.plan)
    fits = [_fit(row, shares) for row in sample.questions]
    return min(1.0, len(fits) * min(fits))


def _fit(counts: Counts, chances: Array) -> float:
    """Probability of a chi-square statistic at least that of these counts; 0 for what never comes.

    Kinds of which few are expected are taken together, as Pearson's approximation needs.
    """
    if counts[chances <= 0.0].any():
        return 0.0
    order = np.argsort(chances)
    expected, seen = chances[order] * counts.sum(), counts[order].astype(np.float64)
    # The rarest kinds make one class, as large as it takes to expect enough of it.
    pooled = int(np.searchsorted(np.cumsum(expected), _FEWEST_EXPECTED)) + 1
    pooled = max(pooled, int(np.searchsorted(expected, _FEWEST_EXPECTED)))
    expected = np.append(expected[:pooled].sum(), expected[pooled:])
    seen = np.append(seen[:pooled].sum(), seen[pooled:])
    if len(expected) < 2:
        return 1.0
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return chi_square_tail(statistic, len(expected) - 1)


def _count_equal(
    sample: _Sample, channel: EnumeratedChannel | None
) -> tuple[int, int, float, bool]:
    """Pairs of reports of one record, how many were equal, how many should be, and whether
    chance allows the difference.

    Half of the calls pair each report with its neighbour, the other half with the report in the
    same place of the next call; no report is in two pairs.
    """
    if channel is None:
        return 0, 0, 0.0, False
    keys = sample.keys
    calls = keys[:, 0::4] == keys[:, 1::4]
    even = keys.shape[2] // 2 * 2
    inner = np.concatenate([keys[:, 2::4], keys[:, 3::4]], axis=1)[:, :, :even]
    neighbours = inner[:, :, 0::2] == inner[:, :, 1::2]
    pairs = calls.size + neighbours.size
    equal = int(calls.sum() + neighbours.sum())
    chances = [float((channel.chances(record) ** 2).sum()) for record in sample.records]
    chance = math.fsum(chances) / len(chances)
    low = lower_probability(equal, pairs, ALPHA / 2)
    dependent = not low <= chance <= upper_probability(equal, pairs, ALPHA / 2)
    return pairs, equal, chance * pairs, dependent
