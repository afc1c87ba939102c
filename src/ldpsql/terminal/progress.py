"""The progress of a long command, on standard error.

It is a bar that appears after a second and is gone at the end, on a terminal only: elsewhere
nothing can be taken back.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from typing import Self, TextIO

from ldpsql.wording.texts import one_line

PATIENCE, EVERY = 1.0, 0.2
"""Seconds before the bar appears on a terminal, and between two looks at it."""


class Progress(AbstractContextManager["Progress"]):
    """Shows `work`, what of it is being done, how much of it is, and for how long it runs."""

    def __init__(self, work: str, stream: TextIO) -> None:
        self._work, self._stream = work, stream
        self._part, self._completed = "", 0
        self._total: int | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show_bar, daemon=True)

    def show(self, part: str) -> None:
        """From now on this part of the work is being done."""
        self._part = part

    def advance(self, completed: int, total: int | None) -> None:
        """So much of the work is done; total: None where nobody knows how much there is."""
        self._completed, self._total = completed, total

    def __enter__(self) -> Self:
        if self._stream.isatty():
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _show_bar(self) -> None:
        if self._done.wait(PATIENCE):
            return
        from rich.console import Console  # noqa: PLC0415  (short work is done without it)
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
        from rich.progress import Progress as Bars  # noqa: PLC0415

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        console = Console(file=self._stream, highlight=False)
        with (
            suppress(OSError, ValueError),  # whoever reads standard error may have left
            Bars(*columns, console=console, transient=True, auto_refresh=False) as bars,
        ):
            task = bars.add_task("")
            while not self._done.is_set():
                completed, total = self._completed, self._total
                # Whose work knows better how long it takes says so itself.
                is_told = not total or " left" in self._part
                left = None if is_told else bars.tasks[0].time_remaining
                rest = "" if left is None else f", {timedelta(seconds=round(left))} left"
                bars.update(
                    task,
                    description=self._line() + rest,
                    completed=completed,
                    total=total,
                )
                bars.refresh()
                self._done.wait(EVERY)

    def _line(self) -> str:
        part = f": {self._part}" if self._part else ""
        of = f" of {self._total:,}" if self._total else ""
        count = f" {self._completed:,}{of}" if self._completed else ""
        return one_line(f"{self._work}{count}{part}")
