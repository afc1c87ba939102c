"""Tables, printed as Markdown and written as CSV, and what machine they were measured on."""

from __future__ import annotations

import csv
import os
import platform
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

DATA = Path("out/tables")
"""Where tables are written; those that docs/benchmarks.md links to are kept in docs/benchmarks."""


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A titled Markdown table on stdout, row by row, and a CSV file in `DATA` with that name."""
    print(f"### {title}\n")
    print(f"| {' | '.join(head)} |")
    print(f"|{'|'.join('---' for _ in head)}|")
    DATA.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    with (DATA / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for row in rows:
            print(f"| {' | '.join(str(cell) for cell in row)} |", flush=True)
            writer.writerow(row)
            file.flush()


def machine() -> str:
    """Cores, Python and the versions that matter."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "numpy", "sqlglot"))
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
