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
from itertools import permutations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ldpsql.algebra.numerics import Array, bound_probability
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit.exact import Criterion, EnumeratedChannel
from ldpsql.audit.outside import MOST_CODES, Empirical
from ldpsql.estimators.base import Auditor
from ldpsql.reports.channel import Outcome
from ldpsql.reports.report import question_shares
from ldpsql_device.entropy import Entropy, Words
from ldpsql_device.plan import Integers

ALPHA = 1e-6
_MOST_RECORDS, _RANDOM_RECORDS = 16, 4
_SPREAD = 14
_MOST_REPORTS = 1 << 24
_LARGEST_CALL = 1 << 16
_FEWEST_CALLS = 16
_RARE = 20
_FEWEST_EXPECTED = 8.0
_CAUTION = NormalDist().inv_cdf(1.0 - ALPHA / 2)
_TRIED_WORDS = 1 << 18
_MULTIPLIER = 0x9E3779B97F4A7C15


class _Sample(NamedTuple):
    """Reports of several records, each as one 64-bit number: `keys`, shape (records, calls, reports
    per call); and how often each question was drawn, shape (records, questions)."""

    design: Auditor
    records: tuple[Outcome, ...]
    keys: Words
    questions: Integers

    @property
    def parts(self) -> list[Words]:
        """A quarter, another one, and half of the reports, shape (records, reports) each."""
        place = np.arange(self.keys.shape[1]) % 4
        chosen = (place == 0, place == 1, place >= 2)
        return [self.keys[:, calls].reshape(len(self.records), -1) for calls in chosen]


class _Event(NamedTuple):
    """How well an event tells a pair of records apart by the second quarter, the pair's numbers,
    and how often the reports of each fell into it in the last half."""

    score: float
    sample: _Sample
    pair: tuple[int, int]
    counts: tuple[int, int]


def run_device(
    design: Auditor, channel: EnumeratedChannel | None, reports: int, entropy: Entropy
) -> Empirical:
    """Run the device code of the design, and of its enumerated smaller one if there is one.

    reports: per record, at least; rounded up to whole calls of the device code.
    """
    samples, events, fits = [], [], []
    pairs, equal, expected, dependent = 0, 0, 0.0, False
    if channel is not None:
        # The two records that the worst report tells apart come first, then some of everywhere.
        inputs = channel.law.inputs
        spread = inputs[:: -max(1, len(inputs) // _SPREAD)]
        worst = (channel.worst.record, channel.worst.other)
        own = _draw(channel.design, tuple(dict.fromkeys(worst + spread + inputs)), reports, entropy)
        samples.append(own)
        rows = dict(zip(inputs, channel.law.probabilities, strict=True))
        chances = np.array([list(map(float, rows[record])) for record in own.records])
        fits.append(_fit_of_reports(own, channel, chances))
        pairs, equal = _count_equal(own)
        share = float((chances**2).sum(axis=1).mean())
        low, high = bound_probability(equal, pairs, ALPHA / 2)
        expected, dependent = share * pairs, not low <= share <= high
        if len(own.records) > 1:
            events.append(_worst_by_law(own, channel))
    if channel is None or channel.design is not design:
        records = pick_records(design.domain, entropy, _MOST_RECORDS)
        samples.append(_draw(design, records, reports, entropy))
    for sample in samples:
        events.append(_find_most_telling(sample))
        fits.append(_worst_fit(sample.questions, question_shares(sample.design.plan)))
    best = max(events, key=lambda event: event.score)
    count = best.sample.keys[0].size
    seen, seen_other = best.counts
    # P <= e^epsilon P' + delta for every event, so log((P - delta) / P') is at most epsilon.
    low, _ = bound_probability(seen, count // 2, ALPHA / 2)
    _, high = bound_probability(seen_other, count // 2, ALPHA / 2)
    low -= float(design.guarantee.delta)
    return Empirical(
        best.sample.design.domain,
        count,
        ALPHA,
        max(0.0, math.log(low / high)) if low > 0 else 0.0,
        best.sample.records[best.pair[0]],
        best.sample.records[best.pair[1]],
        count // 2,
        seen,
        seen_other,
        pairs,
        equal,
        expected,
        dependent,
        min(1.0, len(fits) * min(fits)),
    )


def pick_records(domain: RecordDomain, entropy: Entropy, most: int) -> tuple[Outcome, ...]:
    """So many records at most: corners of the domain, and a few from anywhere."""
    others = draw_random_records(domain, entropy)
    return tuple(dict.fromkeys([*corners(domain)[: most - len(others)], *others]))


def make_records_of_every_code(domain: RecordDomain, entropy: Entropy) -> tuple[Outcome, ...]:
    """Some corners, and for every code of every attribute a record that has it, with random other
    codes, in random order; where there are more than MOST_CODES, some of these.
    """
    random = np.random.default_rng(entropy.words(2))
    limits = np.array(domain.record_sizes)
    places = np.repeat(np.arange(len(limits)), limits)
    codes = np.arange(len(places)) - np.repeat(np.cumsum(limits) - limits, limits)
    chosen = random.permutation(len(places))[:MOST_CODES]
    rows = random.integers(0, limits, (len(chosen), len(limits)))
    rows[np.arange(len(chosen)), places[chosen]] = codes[chosen]
    return tuple(dict.fromkeys([*corners(domain)[:4], *map(tuple, rows.tolist())]))


def corners(domain: RecordDomain) -> tuple[Outcome, ...]:
    """Records far apart: the lowest and the highest sensitive codes, the lowest and the highest of
    all, and those that differ from the lowest in one place, as far as they go."""
    held = [domain.sensitive_codes(j) for j in range(len(domain.sizes))]
    ends = [(0, count - 1) for count in domain.levels]
    low, high = (tuple(codes[end] for codes in [*held, *ends]) for end in (0, -1))
    tops = tuple(size - 1 for size in domain.record_sizes)
    zeros = (0,) * len(tops)
    single = (
        (*zeros[:place], code, *zeros[place + 1 :])
        for place, top in enumerate(tops)
        for code in (top, 1)
        if top >= 1
    )
    return tuple(dict.fromkeys([low, high, zeros, tops, *single]))


def draw_random_records(domain: RecordDomain, entropy: Entropy) -> tuple[Outcome, ...]:
    """A few records from anywhere in the domain."""
    random = np.random.default_rng(entropy.words(2))
    limits = domain.record_sizes
    rows = random.integers(0, limits, (_RANDOM_RECORDS, len(limits)))
    return tuple(dict.fromkeys(map(tuple, rows.tolist())))


def _draw(
    design: Auditor, candidates: Sequence[Outcome], reports: int, entropy: Entropy
) -> _Sample:
    """Reports of the first few candidates, in calls of equal size."""
    records = tuple(candidates[: max(2, min(_MOST_RECORDS, _MOST_REPORTS // reports))])
    calls = max(_FEWEST_CALLS, 4 * -(-reports // (4 * _LARGEST_CALL)))
    size = -(-reports // calls)
    questions = np.zeros((len(records), design.report_format.types), dtype=np.int64)
    keys = np.empty((len(records), calls, size), dtype=np.uint64)
    for number, record in enumerate(records):
        codes = np.tile(np.array(record, dtype=np.int64), (size, 1))
        for call in range(calls):
            columns = list(design.randomize(codes, entropy).columns.values())
            keys[number, call] = row_keys(np.stack(columns, axis=1, dtype=np.uint64))
            drawn = np.asarray(columns[0]).astype(np.int64)
            questions[number] += np.bincount(drawn, minlength=questions.shape[1])
    return _Sample(design, records, keys, questions)


def row_keys(rows: Words) -> Words:
    """One number per row: its columns times fixed odd numbers, modulo 2^64."""
    odd = [pow(_MULTIPLIER, place + 1, 1 << 64) for place in range(rows.shape[1])]
    return np.asarray((rows * np.array(odd, dtype=np.uint64)).sum(axis=1, dtype=np.uint64))


def check_words(entropy: Entropy) -> str | None:
    """The fault of a source of random words: one that comes twice, or a bit that is not set
    as often as it is not (in _TRIED_WORDS of them, from calls of several sizes)."""
    calls = [entropy.words(count) for count in (1, 3, 64, 1000, _TRIED_WORDS)]
    words = np.concatenate(calls)
    if len(np.unique(words)) < len(words):
        return "the device's source of random words gives some words twice"
    for bit in range(64):
        ones = int((words >> np.uint64(bit) & np.uint64(1)).sum())
        low, high = bound_probability(ones, len(words), ALPHA / 128)
        if not low <= 0.5 <= high:
            return f"bit {bit} of the device's random words is set {ones} times of {len(words)}"
    return None


# -- the event that tells most --------------------------------------------------------------------


def _find_most_telling(sample: _Sample) -> _Event:
    """The pair of records whose event, chosen on the first quarter, tells most on the second.

    Of those whose first owner is protected against every other record: what others disclose breaks
    no promise.
    """
    # Kinds of reports: those that are not rare in the first quarter, and all others together.
    kinds, often = np.unique(sample.parts[0], return_counts=True)
    choose, score, bound = (_count(part, kinds[often >= _RARE]) for part in sample.parts)
    best = _Event(-math.inf, sample, (0, 0), (0, 0))
    definition = Criterion(sample.design.guarantee.kind, sample.design.domain)
    for one, other in permutations(range(len(sample.records)), 2):
        if not definition.protects(sample.records[one]):
            continue
        # The kinds that speak for `one`: those above some ratio of the two counts.
        order = np.argsort(-(choose[one] + 0.5) / (choose[other] + 0.5), kind="stable")
        scores = _score(choose[one][order].cumsum(), choose[other][order].cumsum())
        event = order[: int(np.argmax(scores)) + 1]
        found = float(_score(score[one][event].sum(), score[other][event].sum()))
        if found > best.score:
            seen = bound[:, event].sum(axis=1)
            best = _Event(found, sample, (one, other), (int(seen[one]), int(seen[other])))
    return best


def _worst_by_law(sample: _Sample, channel: EnumeratedChannel) -> _Event:
    """The first two records, and the reports that the exact channel tells apart best: those whose
    odds, if they are limited at all, are the worst, up to a thousandth."""
    law, worst = channel.law, channel.worst.odds
    pair = [law.inputs.index(record) for record in sample.records[:2]]
    event = []
    for report, column in zip(law.outputs, zip(*law.probabilities, strict=True), strict=True):
        likely, unlikely = (column[place] for place in pair)
        if worst is None:
            is_worst = likely > 0 == unlikely
        else:
            is_worst = likely * 1000 > worst * unlikely * 999
        if is_worst and set(pair) <= set(channel.definition.compare_records(law.inputs, column)):
            event.append(report)
    keys = row_keys(np.array(event, dtype=np.uint64))
    _, score, (one, other) = (np.isin(part[:2], keys).sum(axis=1) for part in sample.parts)
    return _Event(float(_score(*score)), sample, (0, 1), (int(one), int(other)))


def _count(keys: Words, kinds: Words) -> Integers:
    """How often each of the ascending kinds came, and others, shape (records, kinds + 1)."""
    if not len(kinds):
        return np.full((len(keys), 1), keys.shape[1], dtype=np.int64)
    place = np.minimum(np.searchsorted(kinds, keys), len(kinds) - 1)
    place = np.where(kinds[place] == keys, place, len(kinds))
    return np.array([np.bincount(row, minlength=len(kinds) + 1) for row in place])


def _score(one: Integers, other: Integers) -> Array:
    """About the bound that the last half, twice as many reports, will give for two counts: the log
    of their ratio, less as many standard errors of each as the bound will take off."""
    first, second = one + 1.0, other + 1.0
    spread = 1.0 / np.sqrt(2.0 * first) + 1.0 / np.sqrt(2.0 * second)
    return np.asarray(np.log(first / second) - _CAUTION * spread)


# -- the law --------------------------------------------------------------------------------------


def _fit_of_reports(sample: _Sample, channel: EnumeratedChannel, chances: Array) -> float:
    """Whether reports follow the enumerated law; chances: shape (records, reports)."""
    keys = row_keys(np.array(channel.law.outputs, dtype=np.uint64))
    counts = _count(sample.keys.reshape(len(sample.records), -1), np.sort(keys))
    # What the law does not know has no chance.
    return _worst_fit(counts, np.pad(chances[:, np.argsort(keys)], ((0, 0), (0, 1))))


def _worst_fit(counts: Integers, chances: Array) -> float:
    """The least `_fit` of several rows, times their number."""
    return min(1.0, len(counts) * min(map(_fit, counts, np.broadcast_to(chances, counts.shape))))


def _fit(counts: Integers, chances: Array) -> float:
    """Probability of a chi-square statistic at least that of these counts; 0 for what never comes.

    Kinds of which few are expected are taken together, as Pearson's approximation needs.
    """
    from scipy.special import chdtrc  # noqa: PLC0415

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
    return float(chdtrc(len(expected) - 1, ((seen - expected) ** 2 / expected).sum()))


def _count_equal(sample: _Sample) -> tuple[int, int]:
    """Pairs of reports of one record, and how many were equal.

    Half of the calls pair each report with its neighbour, the other half with the report in the
    same place of the next call; no report is in two pairs.
    """
    keys = sample.keys
    calls = keys[:, 0::4] == keys[:, 1::4]
    even = keys.shape[2] // 2 * 2
    inner = np.concatenate([keys[:, 2::4], keys[:, 3::4]], axis=1)[:, :, :even]
    neighbours = inner[:, :, 0::2] == inner[:, :, 1::2]
    return calls.size + neighbours.size, int(calls.sum() + neighbours.sum())
