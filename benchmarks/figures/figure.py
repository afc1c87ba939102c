"""What a figure is: how it is measured, drawn and judged, and the files it leaves."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures.cases import HERE, Cases, Listing, Row, source_hash
from benchmarks.figures.verdicts import WORDS, Vote
from ldpsql.terminal import figures as plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Skipped(Exception):
    """A figure cannot be measured here; the message says why."""


class NoRows(ValueError):
    """Nothing was measured."""


@dataclass(frozen=True)
class Verdict:
    """Whether a claim of the paper holds; None where it is undecided."""

    claim: str
    holds: Vote
    because: str

    def __str__(self) -> str:
        return f"{WORDS[self.holds]}: {self.claim} ({self.because})"


@dataclass(frozen=True)
class Measured:
    """Rows with the same keys, and one line on the data they were measured on."""

    rows: Sequence[Row]
    data: str

    def __post_init__(self) -> None:
        if not self.rows:
            raise NoRows("a figure without rows")
        keys = list(self.rows[0])
        if any(list(row) != keys for row in self.rows):
            raise ValueError("the rows of a figure differ in their keys")

    def where(self, **wanted: object) -> list[Row]:
        """The rows with these values, in order."""
        return [row for row in self.rows if all(row[key] == v for key, v in wanted.items())]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows by column, to be kept."""
        return {key: [row[key] for row in self.rows] for key in self.rows[0]}

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]], data: str) -> Measured:
        """The inverse of `columns`."""
        rows = zip(*columns.values(), strict=True)
        return cls([dict(zip(columns, row, strict=True)) for row in rows], data)

    def values(self, key: str) -> list[Any]:
        """The distinct values of a column, in the order of their first rows."""
        return list(dict.fromkeys(row[key] for row in self.rows))


@dataclass(frozen=True)
class Figure:
    """A figure of a paper; see the package's docstring."""

    name: str
    source: str
    measure: Callable[..., Measured]
    draw: Callable[[Measured], Drawing | Mapping[str, Drawing]]
    judge: Callable[[Measured], Sequence[Verdict]]
    quick: Mapping[str, Any]
    full: Mapping[str, Any]

    def parameters(self, full: bool, changed: Mapping[str, Any]) -> dict[str, Any]:
        """What to measure with; changed: those that shall be others."""
        return {**(self.full if full else self.quick), **changed}

    def list_cases(self, folder: Path, *, full: bool = False, **changed: Any) -> Listing:
        """The cases that `run` would measure; what has none is measured on the way."""
        listing = Listing(folder / "cases", self.name)
        with suppress(NoRows):
            self.measure(listing, **self.parameters(full, changed))
        return listing

    def run(self, folder: Path, *, full: bool = False, **changed: Any) -> Sequence[Verdict]:
        """Measure, draw and judge; leaves `name`.csv, .png, .svg and .json in the folder. The last
        holds everything that was measured, the day and the version.

        changed: parameters that shall have other values than `full` or `quick` say.
        """
        parameters = self.parameters(full, changed)
        started = time.perf_counter()
        folder.mkdir(parents=True, exist_ok=True)
        measured = self.measure(Cases(folder / "cases", self.name), **parameters)
        with (folder / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(measured.rows[0]))
            writer.writeheader()
            writer.writerows(measured.rows)
        drawn = self.draw(measured)
        pictures = drawn if isinstance(drawn, Mapping) else {"": drawn}
        for suffix, picture in pictures.items():
            for form in ("png", "svg"):
                plots.save_figure(picture, folder / f"{self.name}{suffix}.{form}")
        verdicts = tuple(self.judge(measured))
        summary = {
            "name": self.name,
            "source": self.source,
            "full": full,
            "changed": sorted(changed),
            "parameters": parameters,
            "data": measured.data,
            "pictures": [self.name + suffix for suffix in pictures],
            "date": datetime.now(UTC).date().isoformat(),
            "version": f"{version('ldpsql')}, source {source_hash(HERE)[:12]}",
            "seconds": round(time.perf_counter() - started, 1),
            "columns": measured.columns,
            "verdicts": [asdict(verdict) for verdict in verdicts],
        }
        (folder / f"{self.name}.json").write_text(json.dumps(summary, indent=1, default=str))
        return verdicts
