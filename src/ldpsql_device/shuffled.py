"""The promise of a shuffled batch; loaded only for surveys that make one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from ldpsql_device.epsilon import LARGEST_PRECISION, Epsilon
from ldpsql_device.errors import SurveyError, expect
from ldpsql_device.survey import require_keys

MOST_USERS = 10**9
_SMALLEST_DELTA = Decimal("1e-30")
_KEYS = ("epsilon", "delta", "users", "honest")
_DECIMAL = re.compile(r"[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?")
_LIKE = {"delta": "1e-6", "honest": "0.9"}


@dataclass(frozen=True)
class Central:
    """A promise against whoever sees only the shuffled batch of many people's reports.

    epsilon, delta: of replacing one person's whole record.  people: how many honest reports the
    batch must hold at least.
    """

    epsilon: Epsilon
    delta: Fraction
    people: int

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise SurveyError(f"delta must lie between 0 and 1, not {float(self.delta):g}")
        if type(self.people) is not int or self.people < 2:
            raise SurveyError("a shuffled batch needs at least 2 people")

    def __str__(self) -> str:
        return (
            f"({self.epsilon}, {float(self.delta):g})-DP once shuffled among at least "
            f"{self.people:,} honest people"
        )


@dataclass(frozen=True)
class Shuffled:
    """The trust of a survey whose reports are shuffled before the collector sees them.

    epsilon, delta: promised against whoever sees the shuffled batch.  users: how many reports a
    batch must hold.  honest: the share of them that comes from people who neither lie in a way that
    depends on others' records nor tell the collector what they sent; only they hide a report.
    Raises SurveyError, naming the key, for what makes no promise.
    """

    epsilon: Epsilon
    delta: Decimal
    users: int
    honest: Decimal = Decimal(1)

    def __post_init__(self) -> None:
        if type(self.users) is not int or not 2 <= self.users <= MOST_USERS:
            raise SurveyError(
                f"[survey]: users must be a whole number from 2 to {MOST_USERS:,}: so many reports "
                "are shuffled together"
            )
        if not 0 < self.honest <= 1:
            raise SurveyError(f"[survey]: honest must be a share in (0, 1], not {self.honest}")
        if self.people_of(self.users) < 2:
            raise SurveyError("[survey]: fewer than 2 honest users hide nobody")
        most = Fraction(1, self.people_of(self.users))
        if not self.delta >= _SMALLEST_DELTA or Fraction(self.delta) > most:
            raise SurveyError(
                f"[survey]: delta must lie between {_SMALLEST_DELTA} and 1 / (honest users) = "
                f"{float(most):.4g}, not {self.delta}: a larger one would allow to publish one "
                "person's record"
            )

    @classmethod
    def parse(cls, epsilon: Any, delta: Any, users: Any, honest: Any = 1) -> Shuffled:
        """Read what a survey file says; floats are taken by their shortest decimal form."""
        return cls(
            Epsilon.parse(epsilon), _decimal("delta", delta), users, _decimal("honest", honest)
        )

    @classmethod
    def from_json(cls, data: Any, where: str) -> Shuffled:
        """The inverse of `to_json`, of which texts are decimals; where: for messages."""
        require_keys(data, where, _KEYS)
        for key in ("epsilon", "delta", "honest"):
            is_decimal = isinstance(data[key], str) and _DECIMAL.fullmatch(data[key])
            expect(is_decimal, f"{where}.{key} must be a decimal string")
        return cls.parse(*(data[key] for key in _KEYS))

    def people_of(self, reports: int) -> int:
        """How many honest people a batch of so many reports counts for."""
        return int(reports * Fraction(self.honest))

    @property
    def central(self) -> Central:
        """The promise, with the number of honest people that it needs."""
        return Central(self.epsilon, Fraction(self.delta), self.people_of(self.users))

    def to_json(self) -> dict[str, Any]:
        """The keys of a published promise that say it."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "users": self.users,
            "honest": str(self.honest),
        }


def _decimal(key: str, given: Any) -> Decimal:
    """A number with few digits; SurveyError for anything else."""
    try:
        number = Decimal("not a number" if isinstance(given, bool) else str(given))
    except InvalidOperation:
        raise SurveyError(
            f'[survey]: {key} must be a number, as in "{_LIKE.get(key, "1")}", not {given!r:.60}'
        ) from None
    few = number.is_finite() and len(number.as_tuple().digits) <= LARGEST_PRECISION
    # A far exponent would make an exact fraction of millions of digits.
    if not few or (number and abs(number.adjusted()) > 60):
        raise SurveyError(f"[survey]: {key} must be a number of at most {LARGEST_PRECISION} digits")
    return number
