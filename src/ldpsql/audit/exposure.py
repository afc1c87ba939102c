"""Public. Sees parameters. Who is protected against which alternatives, from an enumerated channel.

Owners of records are told apart by which of their values are sensitive, alternatives by the
attributes in which they differ. What a channel allows is the largest ratio of a report's
probability under the owner's record to that under an alternative. Specification: uldp, section 1.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ldpsql.audit.definitions import Definition
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Law
from ldpsql_device.schema import RecordDomain

MOST_RECORDS, MOST_DIMENSIONS = 400, 3
_NAMES = {"uldp": "ULDP", "uldp-joint": "ULDP per attribute"}

Sides = tuple[bool, ...]


@dataclass(frozen=True)
class Exposure:
    """What reports can tell about one kind of owner, against one kind of alternative.

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


def exposures(law: Law, domain: RecordDomain) -> tuple[Exposure, ...]:
    """A row per kind of owner and alternative; none for plain designs and large channels."""
    dimensions = len(domain.sizes)
    is_large = len(law.inputs) > MOST_RECORDS or dimensions > MOST_DIMENSIONS
    if domain.is_all_sensitive or domain.bounds or is_large:
        return ()
    return tuple(_rows(law, domain))


def _rows(law: Law, domain: RecordDomain) -> Iterator[Exposure]:
    definition = Definition("uldp", domain)
    channel = np.array([[float(chance) for chance in row] for row in law.probabilities])
    held = [definition.held(record) for record in law.inputs]
    codes = np.array(law.inputs)
    for owner in sorted(set(held), reverse=True):
        owners = np.flatnonzero([one == owner for one in held])
        for differs in product((True, False), repeat=len(owner)):
            worst, given = _told(channel, codes, owners, np.array(differs))
            if any(differs) and worst is not None:
                yield Exposure(
                    _words(domain, owner, ("sensitive", "not")),
                    " and ".join(n for n, d in zip(domain.names, differs, strict=True) if d),
                    None if worst == np.inf else worst,
                    given,
                    _promised(owner, differs),
                )


def _told(
    channel: Array, codes: np.ndarray[Any, Any], owners: np.ndarray[Any, Any], differs: Any
) -> tuple[float | None, float]:
    """Largest log odds of an owner's report against an alternative (None without one), and the
    largest probability of a report that none of the alternatives sends."""
    worst: float | None = None
    given = 0.0
    for owner in owners:
        others = channel[((codes != codes[owner]) == differs).all(axis=1)]
        if not len(others):
            continue
        sent = channel[owner] > 0
        with np.errstate(divide="ignore"):
            odds = np.log(channel[owner][sent] / others[:, sent]).max()
        worst = float(odds) if worst is None else max(worst, float(odds))
        given = max(given, float(channel[owner][(others == 0).all(axis=0)].sum()))
    return worst, given


def _promised(owner: Sides, differs: Sides) -> str:
    """The guarantees that limit the odds of such an owner against such alternatives."""
    is_within = all(held for held, other in zip(owner, differs, strict=True) if other)
    kinds = {"uldp": any(owner), "uldp-joint": is_within}
    return ", ".join(_NAMES[kind] for kind, is_kept in kinds.items() if is_kept) or "none"


def _words(domain: RecordDomain, sides: Sides, words: tuple[str, str]) -> str:
    return ", ".join(
        f"{name} {words[0] if side else words[1]}"
        for name, side in zip(domain.names, sides, strict=True)
    )
