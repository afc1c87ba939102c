"""The exact channel of a design, and what each kind of guarantee limits in it.

Every definition says, for each report, which records it compares: no two of them may differ in that
report's probability by more than e^epsilon.

* LDP (kinds "local" and "none"): all records.
* ULDP (kind "uldp"): all records, unless only one record can send the report and has no sensitive
  value. On several attributes a record is sensitive if any of its values is (product ULDP).
* ULDP per attribute (kind "uldp-joint"): the records that agree with all senders of the report in
  every attribute in which these have one common value that is not sensitive. For two attributes
  that is Definition 3 of the specification: a report of two sensitive values compares all records,
  one with a value v that is not sensitive those with v, and one of two such values has a single
  sender. Besides, a report that names a value which is not sensitive comes from its holders only.

Sources: docs/spec/uldp.md#1.1, docs/spec/uldp.md#1.2, docs/spec/uldp.md#1.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.law import Law, Outcome, Worst
from ldpsql.recipes.registry import mechanism
from ldpsql.record_domain import RecordDomain
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, SurveyError

MOST_PROBABILITIES = 1 << 17
LARGEST_RECORDS = 4096
LARGEST_DIMENSION, _DIGITS = 1 << 31, 10
MOST_EXPOSED_RECORDS, MOST_EXPOSED_DIMENSIONS = 400, 3
_CAPS = (8, 6, 5, 4, 3, 2)
_SPREAD = 14
_NAMES = {"uldp": "ULDP", "uldp-joint": "ULDP per attribute"}


# -- definitions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """What the definition of a kind of guarantee limits, over one record domain."""

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

    def compared(self, inputs: Sequence[Outcome], column: Sequence[Fraction]) -> list[int]:
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
        return law.worst(lambda column: self.compared(law.inputs, column))

    def holds(self, law: Law, epsilon: Epsilon) -> bool:
        """Whether the channel meets the definition at an epsilon, in exact fractions."""
        odds = self.worst(law).odds
        return odds is not None and odds <= epsilon.odds


# -- enumerated channels --------------------------------------------------------------------------


@dataclass(frozen=True)
class EnumeratedChannel:
    """A design small enough to enumerate, and its law."""

    design: Design
    law: Law

    @cached_property
    def definition(self) -> Criterion:
        """What the guarantee of the design limits."""
        return Criterion(self.design.guarantee.kind, self.design.domain)

    @cached_property
    def worst(self) -> Worst:
        """The worst that the channel allows."""
        return self.definition.worst(self.law)

    @cached_property
    def asks_blindly(self) -> bool:
        """Whether every record gets each question with the same probability, together 1."""
        shares: list[dict[int, Fraction]] = []
        for row in self.law.probabilities:
            share: dict[int, Fraction] = {}
            for report, chance in zip(self.law.outputs, row, strict=True):
                share[report[0]] = share.get(report[0], Fraction(0)) + chance
            shares.append(share)
        return sum(shares[0].values()) == 1 and all(share == shares[0] for share in shares)

    @cached_property
    def records(self) -> tuple[Outcome, ...]:
        """Every record; the two that the worst report tells apart first, the others from places
        spread over the domain before those in between."""
        step = max(1, len(self.law.inputs) // _SPREAD)
        spread = (*self.law.inputs[::-step], *self.law.inputs)
        return tuple(dict.fromkeys([self.worst.record, self.worst.other, *spread]))

    @cached_property
    def telling_reports(self) -> tuple[Outcome, ...]:
        """The reports whose odds under the first two records, if they are limited at all, are the
        worst, up to a thousandth."""
        pair = [self.law.inputs.index(record) for record in self.records[:2]]
        worst = self.worst.odds
        telling = []
        columns = zip(*self.law.probabilities, strict=True)
        for report, column in zip(self.law.outputs, columns, strict=True):
            likely, unlikely = (column[place] for place in pair)
            if worst is None:
                is_worst = bool(likely) and not unlikely
            else:
                is_worst = bool(likely) and likely * 1000 > worst * unlikely * 999
            if is_worst and set(pair) <= set(self.definition.compared(self.law.inputs, column)):
                telling.append(report)
        return tuple(telling)

    def chances(self, record: Outcome) -> NDArray[np.float64]:
        """Probabilities of all reports of a record, shape (reports,)."""
        row = self.law.probabilities[self.law.inputs.index(record)]
        return np.array([float(chance) for chance in row])


def enumerate_channel(design: Design, options: Mapping[str, Any]) -> EnumeratedChannel | None:
    """The design's channel if it is small, else that of the largest smaller design that is.

    options: the mechanism's, for the smaller design. None where no channel is small enough.
    """
    for candidate in _candidates(design, options):
        reports = sum(math.prod(row) for row in candidate.report_format.limits.tolist())
        if count_records(candidate.domain) * reports <= MOST_PROBABILITIES:
            try:
                return EnumeratedChannel(candidate, candidate.law())
            except ValueError:
                continue
    return None


def _candidates(design: Design, options: Mapping[str, Any]) -> Iterator[Design]:
    yield design
    for domain in smaller(design.domain):
        try:
            yield mechanism(design.name).design(domain, design.epsilon, options)
        except (Error, ValueError):
            continue


# -- record domains to audit on -------------------------------------------------------------------


def made_up(text: str, measures: int, sensitive: str | None = None) -> RecordDomain:
    """A domain from its sizes, "4x4", with measures between 0 and 1.

    sensitive: how many codes of each dimension, the first ones, are sensitive, "2x1"; all where
    None. SurveyError if a text is not a product of whole numbers from 1, one is above 2^31, or they
    do not fit.
    """
    sizes = _read_product(text, "a domain is codes per dimension, like 4x4")
    held = sizes
    if sensitive is not None:
        held = _read_product(sensitive, "sensitive codes are a number per dimension, like 2x1")
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
    """Number of different private records, signs of the measures included."""
    return math.prod((*domain.sizes, *(2 for _ in domain.bounds)))


def smaller(domain: RecordDomain) -> Iterator[RecordDomain]:
    """Smaller domains, those that keep all dimensions and measures first.

    Each size is cut to a common cap; then dimensions, and then measures, are left out from the
    last on. A dimension with values that are not sensitive keeps one at least.
    """
    seen = {domain}
    counts = [len(domain.sensitive_codes(j)) for j in range(len(domain.sizes))]
    for measures in range(len(domain.bounds), -1, -1):
        for dimensions in range(len(domain.sizes), -1, -1):
            for cap in _CAPS:
                sizes = tuple(min(size, cap) for size in domain.sizes[:dimensions])
                held = [
                    min(count, size - (count < before))
                    for count, size, before in zip(counts, sizes, domain.sizes, strict=False)
                ]
                kept = domain.measured[:measures]
                cut = RecordDomain(
                    domain.names[:dimensions],
                    sizes,
                    domain.measure_names[:measures],
                    domain.bounds[:measures],
                    tuple(i if i is not None and i < dimensions else None for i in kept),
                    (),
                    _first_codes(held, sizes),
                )
                is_new = (dimensions or measures) and cut not in seen
                if is_new and count_records(cut) <= LARGEST_RECORDS:
                    seen.add(cut)
                    yield cut


# -- who is protected against whom ----------------------------------------------------------------


@dataclass(frozen=True)
class Exposure:
    """What reports can tell about one kind of owner, against one kind of alternative.

    Owners of records are told apart by which of their values are sensitive, alternatives by the
    attributes in which they differ (docs/spec/uldp.md#1.2).

    owner, differs: in words.  epsilon: log of the largest odds, None if unbounded.  given_away:
    probability of a report that no such alternative sends.  promised: the kinds of guarantee that
    limit these odds.
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

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "owner": self.owner,
            "differs": self.differs,
            "epsilon": self.epsilon,
            "given_away": self.given_away,
            "promised": self.promised,
        }


def find_exposures(law: Law, domain: RecordDomain) -> Iterator[Exposure]:
    """A row per kind of owner and alternative; none for plain designs and large channels."""
    is_large = len(law.inputs) > MOST_EXPOSED_RECORDS or len(domain.sizes) > MOST_EXPOSED_DIMENSIONS
    if domain.is_all_sensitive or domain.bounds or is_large:
        return
    definition = Criterion("uldp", domain)
    channel = np.array([[float(chance) for chance in row] for row in law.probabilities])
    kinds = np.array([definition.sensitive_values(record) for record in law.inputs])
    codes = np.array(law.inputs)
    for owner in sorted(set(map(tuple, kinds.tolist())), reverse=True):
        owners = np.flatnonzero((kinds == owner).all(axis=1))
        for differs in product((True, False), repeat=len(owner)):
            worst = _worst_exposure(channel, codes, owners, np.array(differs))
            if not any(differs) or worst is None:
                continue
            epsilon, given_away = worst
            is_within = all(held for held, other in zip(owner, differs, strict=True) if other)
            promised = {"uldp": any(owner), "uldp-joint": is_within}
            yield Exposure(
                ", ".join(
                    f"{name} {'sensitive' if is_held else 'not'}"
                    for name, is_held in zip(domain.names, owner, strict=True)
                ),
                " and ".join(n for n, d in zip(domain.names, differs, strict=True) if d),
                None if epsilon == np.inf else epsilon,
                given_away,
                ", ".join(_NAMES[kind] for kind, is_kept in promised.items() if is_kept) or "none",
            )


def _worst_exposure(
    channel: NDArray[np.float64],
    codes: NDArray[np.int64],
    owners: NDArray[np.int64],
    differs: NDArray[np.bool_],
) -> tuple[float, float] | None:
    """Largest log odds of an owner's report against an alternative, and the largest probability
    of a report that none of the alternatives sends; None where there are no alternatives."""
    worst: tuple[float, float] | None = None
    for owner in owners:
        others = channel[((codes != codes[owner]) == differs).all(axis=1)]
        if not len(others):
            continue
        sent = channel[owner] > 0
        with np.errstate(divide="ignore"):
            odds = float(np.log(channel[owner][sent] / others[:, sent]).max())
        given_away = float(channel[owner][(others == 0).all(axis=0)].sum())
        before = worst or (odds, 0.0)
        worst = max(before[0], odds), max(before[1], given_away)
    return worst
