"""Public. Sees parameters. Domains of values written out one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ldpsql.boxes import CodeSet, codes
from ldpsql_device.domains.base import COMPARISONS, LARGEST_DOMAIN, Value, plain
from ldpsql_device.errors import QueryError, RecordError, SurveyError


@dataclass(frozen=True)
class Listed:
    """Values in the order of their codes (category: all strings or all ints; bool)."""

    type: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= LARGEST_DOMAIN:
            raise SurveyError(f"values must list 1 to {LARGEST_DOMAIN} values, chosen by a person")
        if len({type(value) for value in self.values}) != 1:
            raise SurveyError("the values of a category must be all strings or all ints")
        if len(set(self.values)) != len(self.values):
            raise SurveyError("the values of a category must differ")

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values)

    @cached_property
    def _codes(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.values)}

    def code(self, value: Value) -> int:
        """Code of one value; RecordError, which never shows the value, if it is not listed."""
        value = plain(value)
        same_type = type(value) is type(self.values[0])  # True == 1, but is not the same value
        found = self._codes.get(value) if same_type else None
        if found is None:
            raise RecordError("is not one of the declared values")
        return found

    def labels(self) -> list[Value]:
        """The values themselves."""
        return list(self.values)

    def matching(self, comparison: str, literal: Value) -> CodeSet:
        """Codes whose value satisfies the comparison (strings compare by code point)."""
        if type(literal) is not type(self.values[0]):
            raise QueryError(f"a column of type {self.type} cannot be compared with {literal!r}")
        compare = COMPARISONS[comparison]
        return codes(code for code, value in enumerate(self.values) if compare(value, literal))

    def bins(self, width: float) -> list[tuple[Value, CodeSet]]:
        """A listed domain has no bins: QueryError."""
        raise QueryError(f"bin() takes an int or float column, not {self.type}")

    def spec(self) -> dict[str, Any]:
        """The keys of a survey file that give this domain back."""
        if self.type == "bool":
            return {"type": "bool"}
        return {"type": self.type, "values": list(self.values)}

    def describe(self) -> str:
        """The extent in words, for messages."""
        return "false, true" if self.type == "bool" else f"{self.size} declared values"

    def extent(self, low: int, high: int) -> str:
        """The values of codes low..high-1, one by one."""
        return ", ".join(map(str, self.values[low:high]))


BOOL = Listed("bool", (False, True))
