"""A survey as a device sees it: what is asked, what is promised, and how reports are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from ldpsql_device.encode import Codes
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.schema import Schema


class Survey(Protocol):
    """What a device needs to know of a survey.

    A person answers one survey of a chain.
    """

    @property
    def table(self) -> str:
        """The name under which SQL asks it."""
        ...

    @property
    def schema(self) -> Schema:
        """Its columns."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What a person is promised."""
        ...

    @property
    def epsilon(self) -> Epsilon:
        """Budget of one report against whoever sees it."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the survey, in hexadecimal."""
        ...

    @property
    def chain(self) -> str:
        """Fingerprint of the first of its rounds, its own for any other survey."""
        ...

    @property
    def report_columns(self) -> tuple[str, ...]:
        """Names of the integers of a report."""
        ...

    @property
    def report_widths(self) -> tuple[int, ...]:
        """Bits of each of them."""
        ...

    def draw(self, codes: Codes, entropy: Entropy) -> Sequence[NDArray[Any]]:
        """One report per row of `codes`, int64 (n, d + k), as a column per integer of a report."""
        ...

    def to_json(self) -> str:
        """The survey as published."""
        ...
