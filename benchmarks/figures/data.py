"""The tables that figures are measured on: the real ones, or generated ones where they are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figures import nursery

GENERATED = {"nursery": nursery.table}
"""Real tables that follow from rules, so that no file is needed."""


def folder() -> Path | None:
    """Where the real tables are: LDPSQL_DATA, or beside the project; None if nowhere."""
    here = Path(__file__).resolve().parents[2]
    for place in (os.environ.get("LDPSQL_DATA"), here.parent / "shared" / "data"):
        if place and Path(place).is_dir():
            return Path(place)
    return None


def people(
    name: str,
    columns: Sequence[str],
    stand_in: Callable[[], pa.Table] | None = None,
    *,
    rows: int | None = None,
) -> tuple[pa.Table, str]:
    """Columns of a real table, or the stand-in where it is not there, and a line that says which.

    rows: only the first so many.
    """
    place = folder()
    path = None if place is None else place / f"{name}.parquet"
    if name in GENERATED:
        table, source = GENERATED[name]().select(list(columns)), name
    elif path is not None and path.exists():
        table, source = pq.read_table(path, columns=list(columns)), name
    elif stand_in is not None:
        table, source = stand_in().select(list(columns)), f"generated stand-in for {name}"
    else:
        raise FileNotFoundError(f"{name}.parquet is not in the folder that LDPSQL_DATA names")
    table = table if rows is None else table.slice(0, rows)
    return table, f"{source}, {table.num_rows:,} people"
