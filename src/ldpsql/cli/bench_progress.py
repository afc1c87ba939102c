"""Public. Sees parameters. How far a comparison is, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ldpsql.bench.harness import Progress, Say

_EVERY = 5.0  # seconds between lines of progress where stderr is no terminal


@contextmanager
def progress_of_runs() -> Iterator[Say]:
    """What says how far it is: one line that changes on a terminal, else one every few seconds."""
    terminal = sys.stderr.isatty()
    last = time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal last
        if terminal:
            click.echo(f"\r\x1b[2K{_line(progress)}", nl=False, err=True)
        elif time.monotonic() - last >= _EVERY or progress.done == progress.total:
            last = time.monotonic()
            click.echo(_line(progress), err=True)

    try:
        yield say
    finally:
        if terminal:
            click.echo("\r\x1b[2K", nl=False, err=True)


def _line(progress: Progress) -> str:
    case = progress.case
    kept = f" ({progress.kept} done before)" if progress.kept else ""
    left = "" if progress.left is None else f", {_duration(progress.left)} left"
    what = f"{case.contestant.label}, epsilon {case.epsilon}, {case.users} people"
    return f"{progress.done} of {progress.total} runs{kept}{left}: {what}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
