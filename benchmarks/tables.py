"""Markdown tables, and what machine they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A titled Markdown table on stdout."""
    print(f"### {title}\n")
    print(f"| {' | '.join(head)} |")
    print(f"|{'|'.join('---' for _ in head)}|")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |", flush=True)


def machine() -> str:
    """Cores, Python and the versions that matter."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "numpy", "sqlglot"))
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
