"""What is needed of a survey to answer it. For type checkers only: nothing loads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from ldpsql_device.entropy import Entropy
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.plan import Integers
from ldpsql_device.schema import Schema


class Published(Protocol):
    """A survey as a device holds it (`ldpsql_device.survey`), or as the collector does."""

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
    def fingerprint(self) -> str:
        """SHA-256 of the published survey."""
        ...

    @property
    def chain(self) -> str:
        """Fingerprint of the first of its rounds. A person answers one survey of a chain."""
        ...

    @property
    def report_columns(self) -> tuple[str, ...]:
        """Names of the whole numbers of a report."""
        ...

    @property
    def report_widths(self) -> tuple[int, ...]:
        """Bits of each of them: 8, 16, 32 or 64."""
        ...

    def accepts(self, numbers: Sequence[int]) -> bool:
        """Whether these whole numbers are a report: a question, and answers below its limits."""
        ...

    def draw(self, codes: Integers, entropy: Entropy) -> Sequence[NDArray[Any]]:
        """One report per row of `codes`, shape (n, d + k), as a column per number of a report."""
        ...

    def to_json(self) -> str:
        """The survey as published."""
        ...
