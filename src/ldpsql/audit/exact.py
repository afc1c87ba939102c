"""The exact channel of a design, and what each kind of guarantee limits in it.

Every definition says, for each report, which records it compares: no two of them may differ in that
report's probability by more than e^epsilon. By kind of guarantee (`ldpsql_device.odds.Definition`):

* "local" and "none": all records.
* "uldp": all, unless only one record can send the report and has no sensitive value. On several
  attributes a record is sensitive if any of its values is (product ULDP).
* "uldp-joint": those that agree with all senders of the report in every attribute in which these
  have one common value that is not sensitive. For two attributes that is Definition 3 of the
  specification; besides, a report that names such a value comes from its holders only.

Sources: docs/spec/uldp.md#1.1, docs/spec/uldp.md#1.2, docs/spec/uldp.md#1.3.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Auditor
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import Law, Outcome, Worst, enumerate_law
from ldpsql.shuffle.accountant import Blanket, delta_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, SurveyError
from ldpsql_device.law import count_reports
from ldpsql_device.odds import Definition, odds

MOST_PROBABILITIES = 1 << 17
LARGEST_RECORDS = 4096
LARGEST_DIMENSION, _DIGITS = 1 << 31, 10
MOST_EXPOSED_RECORDS, MOST_EXPOSED_DIMENSIONS = 400, 3
_CAPS = (8, 6, 5, 4, 3, 2)
_NAMES = {"uldp": "ULDP", "uldp-joint": "ULDP per attribute"}
_CROWDS = ((50, Decimal("0.5")), (5000, Decimal("0.1")))
"""People and central epsilons at which stated and enumerated blankets are compared."""
_MOST_WORK = 200_000
_BEYOND = 1e-6


# -- definitions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """The pairs of records and reports that a kind of guarantee limits, over one record domain."""

    kind: str
    domain: RecordDomain

    @cached_property
    def _sensitive(self) -> tuple[frozenset[int], ...]:
        return tuple(
            frozenset(self.domain.sensitive_codes(j)) for j in range(len(self.domain.sizes))
        )

    def sensitive_values(self, record: Outcome) -> tuple[bool, ...]:
        """Which values of a record are sensitive, dimension by dimension."""
        return tuple(code in codes for code, codes in zip(record, self._sensitive, strict=False))

    def protects(self, record: Outcome) -> bool:
        """Whether the owner of a record is protected against every other record."""
        if self.kind in ("local", "none"):
            return True
        sensitive = self.sensitive_values(record)
        return any(sensitive) if self.kind == "uldp" else all(sensitive)

    def compare_records(self, inputs: Sequence[Outcome], column: Sequence[Fraction]) -> list[int]:
        """The records, by number, among which a report is limited; its probabilities as given."""
        senders = [record for record, chance in zip(inputs, column, strict=True) if chance]
        everybody = list(range(len(inputs)))
        if not senders or self.kind in ("local", "none"):
            return everybody
        if self.kind == "uldp":
            if len(senders) > 1 or any(self.sensitive_values(senders[0])):
                return everybody
            return [inputs.index(senders[0])]
        common = [
            j
            for j, codes in enumerate(self._sensitive)
            if senders[0][j] not in codes and len({sender[j] for sender in senders}) == 1
        ]
        return [i for i in everybody if all(inputs[i][j] == senders[0][j] for j in common)]

    def worst(self, law: Law) -> Worst:
        """The report that tells two of the records that it compares apart best."""
        return law.worst(lambda column: self.compare_records(law.inputs, column))


# -- enumerated channels --------------------------------------------------------------------------


@dataclass(frozen=True)
class EnumeratedChannel:
    """A design small enough to enumerate, and its law."""

    design: Auditor
    law: Law

    @cached_property
    def definition(self) -> Criterion:
        """The criterion of the design's guarantee."""
        return Criterion(self.design.guarantee.kind, self.design.domain)

    @cached_property
    def worst(self) -> Worst:
        """The worst that the channel allows."""
        return self.definition.worst(self.law)

    @cached_property
    def asks_blindly(self) -> bool:
        """Whether every record gets each question with the same probability, together 1."""
        shares = []
        for row in self.law.probabilities:
            share: defaultdict[int, Fraction] = defaultdict(Fraction)
            for report, chance in zip(self.law.outputs, row, strict=True):
                share[report[0]] += chance
            shares.append(share)
        return sum(shares[0].values()) == 1 and all(share == shares[0] for share in shares)


def enumerate_channel(design: Auditor, options: Mapping[str, Any]) -> EnumeratedChannel | None:
    """The design's channel if it is small, else that of the largest smaller design that is.

    options: the mechanism's, for the smaller design. None where no channel is small enough.
    """
    for domain in chain([design.domain], smaller(design.domain)):
        made = design
        try:
            if domain is not design.domain:
                made = mechanism(design.name).design(domain, design.epsilon, options)
            if count_records(domain) * count_reports(made.plan) <= MOST_PROBABILITIES:
                return EnumeratedChannel(made, enumerate_law(made.plan))
        except (Error, ValueError):
            continue
    return None


# -- record domains to audit on -------------------------------------------------------------------


def domain_of_codes(text: str, measures: int, sensitive: str | None = None) -> RecordDomain:
    """A domain from its sizes, "4x4", with measures between 0 and 1.

    sensitive: how many codes of each dimension, the first ones, are sensitive, "2x1"; all where
    None. SurveyError if a text is not a product of whole numbers from 1, one is above 2^31, or they
    do not fit.
    """
    sizes = _read_product(text, "a domain is codes per dimension, like 4x4")
    meaning = "sensitive codes are a number per dimension, like 2x1"
    held = sizes if sensitive is None else _read_product(sensitive, meaning)
    if len(held) != len(sizes) or any(a > b for a, b in zip(held, sizes, strict=True)):
        raise SurveyError(f"{sensitive} sensitive codes do not fit a domain of {text}")
    return RecordDomain(
        tuple(f"x{number}" for number in range(len(sizes))),
        sizes,
        tuple(f"m{number}" for number in range(measures)),
        ((0.0, 1.0),) * measures,
        (None,) * measures,
        (),
        _first_codes(held, sizes),
    )


def _read_product(text: str, meaning: str) -> tuple[int, ...]:
    parts = text.lower().split("x")
    if not all(part.isascii() and part.isdigit() and part.strip("0") for part in parts):
        raise SurveyError(f"{meaning}, not {text!r}")
    if any(len(part.lstrip("0")) > _DIGITS or int(part) > LARGEST_DIMENSION for part in parts):
        raise SurveyError(f"a dimension has at most {LARGEST_DIMENSION} codes")
    return tuple(map(int, parts))


def _first_codes(counts: Sequence[int], sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The sensitive codes of each dimension where they are the first ones."""
    if tuple(counts) == tuple(sizes):
        return ()
    pairs = zip(counts, sizes, strict=True)
    return tuple(() if count == size else tuple(range(count)) for count, size in pairs)


def count_records(domain: RecordDomain) -> int:
    """Number of different private records, levels of the measures included."""
    return math.prod(domain.record_sizes)


def smaller(domain: RecordDomain) -> Iterator[RecordDomain]:
    """Smaller domains, those that keep all dimensions and measures first.

    Each size is cut to a common cap; then dimensions, and then measures, are left out from the
    last on. A dimension with values that are not sensitive keeps one at least.
    """
    seen = {domain}
    counts = [len(domain.sensitive_codes(j)) for j in range(len(domain.sizes))]
    numbers = (range(len(kept), -1, -1) for kept in (domain.bounds, domain.sizes))
    for measures, dimensions, cap in product(*numbers, _CAPS):
        sizes = tuple(min(size, cap) for size in domain.sizes[:dimensions])
        held = [
            min(count, size - (count < before))
            for count, size, before in zip(counts, sizes, domain.sizes, strict=False)
        ]
        measured = domain.measured[:measures]
        cut = RecordDomain(
            domain.names[:dimensions],
            sizes,
            domain.measure_names[:measures],
            domain.bounds[:measures],
            tuple(i if i is not None and i < dimensions else None for i in measured),
            (),
            _first_codes(held, sizes),
            domain.roundings[:measures],
        )
        if (dimensions or measures) and cut not in seen and count_records(cut) <= LARGEST_RECORDS:
            seen.add(cut)
            yield cut


# -- who is protected against whom ----------------------------------------------------------------


@dataclass(frozen=True)
class Exposure:
    """The odds that reports give about one kind of owner, against one kind of alternative.

    Owners of records are told apart by which of their values are sensitive, alternatives by the
    attributes in which they differ (docs/spec/uldp.md#1.2).

    owner, differs: in words.  epsilon: log of the largest odds, None if unbounded.  given_away:
    the largest probability of a report that no such alternative sends.  promised: the kinds of
    guarantee that limit these odds.
    """

    owner: str
    differs: str
    epsilon: float | None
    given_away: float
    promised: str

    @property
    def text(self) -> str:
        """The odds in words."""
        if self.epsilon is not None:
            return f"e^{self.epsilon:.4g}"
        return f"unbounded, with probability {self.given_away:.4g}"


def find_exposures(law: Law, domain: RecordDomain) -> Iterator[Exposure]:
    """A row per kind of owner and alternative; none for plain designs and large channels."""
    is_large = len(law.inputs) > MOST_EXPOSED_RECORDS or len(domain.sizes) > MOST_EXPOSED_DIMENSIONS
    if domain.is_all_sensitive or domain.bounds or is_large:
        return
    definition = Criterion("uldp", domain)
    channel = np.array([[float(chance) for chance in row] for row in law.probabilities])
    kinds = np.array([definition.sensitive_values(record) for record in law.inputs])
    codes = np.array(law.inputs)
    # In a dimension of one code nobody differs; in all others somebody does from every owner.
    differences = [
        d for d in product(*((True, False)[size < 2 :] for size in domain.sizes)) if any(d)
    ]
    for owner in sorted(set(map(tuple, kinds.tolist())), reverse=True):
        for differs in differences:
            own = np.flatnonzero((kinds == owner).all(axis=1))
            odds, given_away = _find_worst(channel, codes, own, differs)
            yield Exposure(
                ", ".join(
                    f"{name} {'sensitive' if is_held else 'not'}"
                    for name, is_held in zip(domain.names, owner, strict=True)
                ),
                " and ".join(n for n, d in zip(domain.names, differs, strict=True) if d),
                None if math.isinf(odds) else math.log(odds),
                given_away,
                _name_promises(owner, differs),
            )


def _name_promises(owner: tuple[bool, ...], differs: tuple[bool, ...]) -> str:
    """The guarantees that limit the odds of an owner, by which of their values are sensitive,
    against whoever differs in these attributes."""
    is_within = all(held for held, other in zip(owner, differs, strict=True) if other)
    promised = {"uldp": any(owner), "uldp-joint": is_within}
    return ", ".join(_NAMES[kind] for kind, is_kept in promised.items() if is_kept) or "none"


def _find_worst(
    channel: NDArray[np.float64], codes: NDArray[np.int64], owners: Iterable[int], differs: Outcome
) -> tuple[float, float]:
    """The largest odds of a report against some records, and the largest probability of reports
    that none of them sends: those that differ from an owner in just these attributes."""
    odds = given_away = 0.0
    for own in owners:
        sent = channel[own] > 0.0
        others = channel[((codes != codes[own]) == differs).all(axis=1)]
        with np.errstate(divide="ignore"):
            odds = max(odds, float((channel[own, sent] / others[:, sent]).max()))
        given_away = max(given_away, float(channel[own, (others == 0.0).all(axis=0)].sum()))
    return odds, given_away


def exceeding(law: Law, limits: Sequence[Epsilon]) -> list[Outcome]:
    """The records for which some report speaks more than their own epsilon allows; exact."""
    pairs = zip(law.inputs, law.probabilities, limits, strict=True)
    least = _least(law)
    return [
        record
        for record, row, limit in pairs
        if any(own > limit.odds * low for own, low in zip(row, least, strict=True))
    ]


def find_graded_exposures(law: Law, limits: Sequence[Epsilon]) -> Iterator[Exposure]:
    """A row per epsilon that records have."""
    least = np.array(_least(law), dtype=float)
    channel = np.array(law.probabilities, dtype=float)
    for limit in sorted(set(limits), key=lambda limit: limit.value):
        rows = channel[[own == limit for own in limits]]
        odds = float((rows / least).max())
        owners = f"epsilon {limit} ({len(rows)} of {len(channel)})"
        yield Exposure(owners, "anything", math.log(odds), 0.0, "graded")


def _least(law: Law) -> list[Fraction]:
    """The least probability of every report over all records."""
    return [min(column) for column in zip(*law.probabilities, strict=True)]


def worst_odds(design: Auditor) -> Fraction | None:
    """The largest odds that the definition of the guarantee limits, from the integers of the plan;
    None if unbounded."""
    return odds(design.plan, Definition(design.guarantee.kind, design.domain.sensitive))


# -- what shuffled reports hide among -------------------------------------------------------------


def blankets_cover(design: Auditor, law: Law) -> bool:
    """Whether the blankets that a design states cover every pair of records of its channel."""
    stated, exact = design.blankets(), enumerate_blankets(law)
    return all(
        delta_of(exact, people, epsilon) <= delta_of(stated, people, epsilon) * (1 + _BEYOND)
        for people, epsilon in _CROWDS
    )


def enumerate_blankets(law: Law) -> tuple[Blanket, ...]:
    """The blankets of pairs of records, those that differ by the rounding of draws only once.

    Of all pairs, or of evenly many of them where the channel is large.
    """
    # The blanket of a pair is the least probability of every report over all records, beside its
    # probabilities under the two. Reports with equal ratios of these are one atom: nothing that
    # the accountant computes can tell them apart.
    every = math.ceil(math.comb(len(law.inputs), 2) * len(law.outputs) / _MOST_WORK)
    least = _least(law)
    kinds: dict[tuple[tuple[float, ...], ...], Blanket] = {}
    for pair in islice(combinations(law.probabilities, 2), None, None, every):
        merged: dict[tuple[float, ...], tuple[Fraction, ...]] = {}
        for atom in zip(least, *pair, strict=True):
            if any(atom[1:]):
                # To ten digits; what the blanket does not cover is a class of its own.
                ratios = tuple(
                    float(f"{float(chance / atom[0]):.10g}") if atom[0] else -1.0
                    for chance in atom[1:]
                )
                known = merged.get(ratios, (Fraction(0),) * 3)
                merged[ratios] = tuple(a + b for a, b in zip(known, atom, strict=True))
        atoms = sorted(merged.values())
        key = tuple(tuple(round(float(part), 12) for part in atom) for atom in atoms)
        kinds.setdefault(key, Blanket(tuple((a, b, c) for a, b, c in atoms)))
    return tuple(kinds.values())
