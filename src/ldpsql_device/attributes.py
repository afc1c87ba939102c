"""Public. Sees parameters. Attributes: what a column of a survey is, by its role.

A *dimension* is private and appears in predicates and GROUP BY; a *measure* is private, numeric
and bounded, and is aggregated; a *public* column travels in clear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import CodeSet, complement
from ldpsql_device.domains import Domain, Value
from ldpsql_device.domains.base import plain
from ldpsql_device.errors import QueryError, RecordError, SurveyError

PUBLIC_TYPES = ("int", "float", "text", "bool", "date", "timestamp")
RESERVED_PREFIX = "ldpsql_"

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Dimension:
    """A private attribute for predicates and GROUP BY.

    nulls: "reject" (a missing value is refused on the device) or "value" (NULL is one more
    code, the last, and IS NULL works).  sensitive: the codes that a utility-optimised mechanism
    protects, ascending; empty where it protects all.
    """

    name: str
    domain: Domain
    nulls: str = "reject"
    sensitive: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.nulls not in ("reject", "value"):
            raise SurveyError(f'dimension {self.name}: nulls must be "reject" or "value"')

    def with_sensitive(self, values: Sequence[Any], *, with_null: bool = True) -> Dimension:
        """The same dimension, of which only some values are sensitive.

        with_null: whether NULL is one of them, where it is a value. SurveyError for an empty list,
        a value twice, and one that is not declared or shares its code with others.
        """
        if not values:
            raise SurveyError("sensitive lists at least one value; leave it out for all of them")
        codes = sorted(map(self._sensitive_code, values))
        if len(set(codes)) != len(codes):
            raise SurveyError("sensitive lists a value twice")
        if self.nulls == "value" and with_null:
            codes.append(self.domain.size)
        return replace(self, sensitive=() if len(codes) == self.size else tuple(codes))

    def _sensitive_code(self, value: Any) -> int:
        if self.domain.type not in ("category", "bool", "int"):
            raise SurveyError(f"sensitive is for category, bool and int, not {self.domain.type}")
        if not isinstance(value, str | int):
            raise SurveyError(f"sensitive: {value!r} is not a declared value")
        try:
            code = self.domain.code(value)
            alone = self.domain.matching("=", value) == ((code, code + 1),)
        except (RecordError, QueryError):
            raise SurveyError(
                f"sensitive: {value!r} is not a declared value with a code of its own"
            ) from None
        if not alone:
            raise SurveyError(f"sensitive: {value!r} is not a declared value")
        return code

    def sensitive_keys(self) -> dict[str, Any]:
        """The keys of a survey file that give the sensitive codes back."""
        if not self.sensitive:
            return {}
        labels = self.labels()
        listed = [labels[code] for code in self.sensitive if code < self.domain.size]
        forgiven = self.nulls == "value" and self.domain.size not in self.sensitive
        return {"sensitive": listed, **({"sensitive_nulls": False} if forgiven else {})}

    @property
    def size(self) -> int:
        """Number of codes, the one for NULL included."""
        return self.domain.size + (self.nulls == "value")

    @property
    def alone(self) -> int:
        """How many codes, the last ones, have no neighbours: that of NULL, or all where the values
        have no order."""
        ordered = self.domain.type not in ("category", "bool")
        return self.size - self.domain.size if ordered else self.size

    @property
    def null_codes(self) -> CodeSet:
        """The codes that stand for NULL: one or none."""
        return ((self.domain.size, self.size),) if self.nulls == "value" else ()

    @property
    def present_codes(self) -> CodeSet:
        """The codes that stand for a value."""
        return complement(self.null_codes, self.size)

    def code(self, value: Value | None) -> int:
        """Code of one value or None. Device side; RecordError names the column, not the value."""
        if value is None:
            if self.nulls == "reject":
                raise RecordError(f'{self.name} is missing (the survey says nulls = "reject")')
            return self.domain.size
        try:
            return self.domain.code(value)
        except RecordError as error:
            raise RecordError(f"{self.name} {error}") from None

    def labels(self) -> list[Value | None]:
        """One value per code; None for the code of NULL."""
        return [*self.domain.labels(), *([None] if self.nulls == "value" else [])]


@dataclass(frozen=True)
class Measure:
    """A private, bounded number that is summed or averaged.

    bounds: (low, high), public. A value outside is clamped or refused on the device.
    """

    name: str
    bounds: tuple[float, float]
    on_out_of_range: str = "clamp"

    def __post_init__(self) -> None:
        check_name(self.name)
        low, high = self.bounds
        if not 0 < high - low < math.inf:
            raise SurveyError(f"measure {self.name}: bounds must be [low, high] with low < high")
        if self.on_out_of_range not in ("clamp", "reject"):
            raise SurveyError(f'measure {self.name}: on_out_of_range must be "clamp" or "reject"')
        # A survey's JSON tells 0 from 0.0, and so would its fingerprint.
        object.__setattr__(self, "bounds", (float(low), float(high)))

    def fraction(self, value: Value | None) -> float:
        """Where a value lies between the bounds, in [0, 1]. Device side.

        RecordError, which names the column and not the value, for a missing or non-numeric
        value, and for one outside the bounds where the survey says "reject".
        """
        number = plain(value)
        if number is None:
            raise RecordError(f"{self.name} is missing")
        if isinstance(number, bool) or not isinstance(number, int | float) or number - number:
            raise RecordError(f"{self.name} is not a finite number")
        low, high = self.bounds
        if self.on_out_of_range == "reject" and not low <= number <= high:
            raise RecordError(f"{self.name} {self.complaint}")
        return float(self.fractions(np.array([min(max(number, low), high)], np.float64))[0])

    def fractions(self, values: Reals) -> Reals:
        """`fraction` of many finite numbers, clamped, shape (n,)."""
        low, high = self.bounds
        return (np.clip(values, low, high) - low) / (high - low)

    def outside(self, values: Reals) -> NDArray[np.bool_]:
        """Which of many finite numbers lie outside the bounds, shape (n,)."""
        low, high = self.bounds
        return (values < low) | (values > high)

    @property
    def complaint(self) -> str:
        """What is said of a value outside the bounds."""
        low, high = self.bounds
        return f"lies outside its bounds [{low:g}, {high:g}]"


@dataclass(frozen=True)
class PublicColumn:
    """A column that travels in clear: no privacy is promised for it."""

    name: str
    type: str
    nulls: str = "reject"

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.type not in PUBLIC_TYPES:
            raise SurveyError(f"public {self.name}: type must be one of {', '.join(PUBLIC_TYPES)}")
        if self.nulls not in ("reject", "value"):
            raise SurveyError(f'public {self.name}: nulls must be "reject" or "value"')

    @property
    def is_numeric(self) -> bool:
        """Whether the column can be summed."""
        return self.type in ("int", "float")


Attribute = Dimension | Measure | PublicColumn


def check_name(name: str) -> None:
    """SurveyError unless the name can be that of a column."""
    if not name or len(name) > 128 or any(ord(character) < 32 for character in name):
        raise SurveyError(f"{name!r} is not a column name")
    if name.lower().startswith(RESERVED_PREFIX):
        raise SurveyError(f"{name}: names that start with {RESERVED_PREFIX} are reserved")
