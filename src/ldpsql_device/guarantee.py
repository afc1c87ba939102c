"""What a survey promises to the person behind one report, by itself and once it is shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from ldpsql_device.epsilon import LARGEST_PRECISION, Epsilon
from ldpsql_device.errors import SurveyError

MOST_USERS = 10**9
_SMALLEST_DELTA = Decimal("1e-30")
_LIKE = {"delta": "1e-6", "honest": "0.9"}

KINDS = {"local": "LDP", "uldp": "ULDP", "uldp-joint": "ULDP per attribute", "none": ""}
"""Kind of guarantee -> the name of the property."""

PUBLIC_IN_CLEAR = "public columns travel in clear"
_BEYOND = ("values that the survey does not declare sensitive",)


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
class Guarantee:
    """What a design promises to the person behind one report.

    kind: "local" (epsilon-LDP for the whole private record); "uldp" (utility-optimised LDP: a
    record with at least one sensitive value is protected against every alternative, others are
    not; docs/spec/uldp.md#1.1, docs/spec/uldp.md#1.3); "uldp-joint" (the weaker promise of
    docs/spec/uldp.md#1.2, per pair of attributes); or "none".
    epsilon: the nominal budget; None where nothing is promised.
    delta: the probability with which the promise may fail; 0 for every mechanism but `truthful`.
    central: what holds besides once the report is one of many in a shuffled batch, if anything.
    protects: in words, what is covered.  not_protected: in words, what is not.
    witness: where nothing is promised, two records and a report that one of them can send and the
    other never, in words; else empty.
    """

    kind: str
    epsilon: Epsilon | None
    protects: str
    not_protected: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)
    witness: str = ""
    central: Central | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SurveyError(f"unknown kind of guarantee: {self.kind}")
        if (self.epsilon is None) != (self.kind == "none"):
            raise SurveyError("a guarantee has an epsilon exactly when it promises something")

    def __str__(self) -> str:
        if self.epsilon is None:
            return "not differentially private"
        delta = f", delta {float(self.delta):g}" if self.delta else ""
        central = f"; {self.central}" if self.central else ""
        return f"{self.epsilon}-{KINDS[self.kind]}{delta}{central}"


def local_guarantee(epsilon: Epsilon) -> Guarantee:
    """The promise of a mechanism that is epsilon-LDP for the whole private record."""
    return guarantee_of("local", epsilon, Fraction(0))


def guarantee_of(kind: str, epsilon: Epsilon | None, delta: Fraction) -> Guarantee:
    """A promise in the words that go with its kind, without what a mechanism has to say of it."""
    every = "every private attribute of one person's report together: no report is more than"
    protects, not_protected = {
        "local": (
            f"{every} e^{epsilon} times likelier under one record than under another",
            (
                PUBLIC_IN_CLEAR,
                "that a person took part, when, and from which address, is visible",
                "a person who answers several surveys loses the sum of their epsilons",
            ),
        ),
        "uldp": ("every record with a sensitive value, against every other record", _BEYOND),
        "uldp-joint": (
            "every sensitive value, against records that agree in the other attributes",
            _BEYOND,
        ),
    }.get(kind, ("nothing", ()))
    return Guarantee(kind, epsilon, protects, not_protected, delta)


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

    def people_of(self, reports: int) -> int:
        """How many honest people a batch of so many reports counts for."""
        return int(reports * Fraction(self.honest))

    @property
    def central(self) -> Central:
        """The promise, with the number of honest people that it needs."""
        return Central(self.epsilon, Fraction(self.delta), self.people_of(self.users))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": "shuffle",
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
