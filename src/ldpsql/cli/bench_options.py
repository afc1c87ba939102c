"""Public. Sees parameters. Kinds of options that only `bench` has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

RESULTS = (".csv", ".parquet")


class Listed(click.ParamType[tuple[Any, ...]]):
    """Values with commas between them."""

    name = "list"

    def __init__(self, kind: type, least: float | None = None) -> None:
        self._kind, self._least = kind, least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """The values, at least one."""
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(
                self._kind(part.strip()) for part in str(value).split(",") if part.strip()
            )
        except ValueError:
            found = ()
        if not found:
            self.fail(f"{value!r} is no list of values with commas between them", param, ctx)
        if self._least is not None and min(found) < self._least:
            self.fail(f"{value!r} holds a number below {self._least:g}", param, ctx)
        return found


class ResultFile(click.Path):
    """A file for results; its suffix says how."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, if it ends in .csv or .parquet."""
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() not in RESULTS:
            self.fail(f"results are {' or '.join(RESULTS)}, not {path.name!r}", param, ctx)
        return path
