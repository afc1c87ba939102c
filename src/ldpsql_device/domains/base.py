"""Public. Sees parameters. What every domain offers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Protocol

import numpy as np

from ldpsql.boxes import CodeSet

Value = int | float | str | bool | date | datetime
Compare = Callable[[Any, Any], bool]

LARGEST_DOMAIN = 1 << 20
COMPARISONS: Mapping[str, Compare] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Domain(Protocol):
    """What a dimension may hold; `type` is the word used in a survey file."""

    @property
    def type(self) -> str:
        """int, float, date, timestamp, category or bool."""
        ...

    @property
    def size(self) -> int:
        """Number of codes."""
        ...

    def code(self, value: Value) -> int:
        """Code of one value; RecordError if the domain does not hold it."""
        ...

    def labels(self) -> list[Value]:
        """One value per code, to stand for it in an answer."""
        ...

    def matching(self, comparison: str, literal: Value) -> CodeSet:
        """Codes whose every value satisfies `value <comparison> literal`.

        QueryError where some code holds values that do and values that do not, or where the
        literal is of another type.
        """
        ...

    def bins(self, width: float) -> list[tuple[Value, CodeSet]]:
        """(lower end, codes) of each bin [k * width, (k + 1) * width) that meets the domain."""
        ...

    def spec(self) -> dict[str, Any]:
        """The keys of a survey file that give this domain back."""
        ...

    def describe(self) -> str:
        """The extent in words, for messages."""
        ...

    def extent(self, low: int, high: int) -> str:
        """The values of codes low..high-1 in words, for EXPLAIN."""
        ...


def plain(value: Any) -> Any:
    """A numpy number, bool or string as Python's own; anything else as it is."""
    if isinstance(value, np.integer | np.floating | np.bool_ | np.str_):
        return value.item()
    return value
