"""The tables that figures are measured on: the real ones, or generated ones where they are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def folder() -> Path | None:
    """Where the real tables are: LDPSQL_DATA, or beside the project; None if nowhere."""
    here = Path(__file__).resolve().parents[2]
    for place in (os.environ.get("LDPSQL_DATA"), here.parent / "shared" / "data"):
        if place and Path(place).is_dir():
            return Path(place)
    return None


def people(
    name: str, columns: Sequence[str], stand_in: Callable[[], pa.Table], *, rows: int | None = None
) -> tuple[pa.Table, str]:
    """Columns of a real table, or the stand-in where there is none, and a line that says which.

    rows: only the first so many.
    """
    place = folder()
    path = None if place is None else place / f"{name}.parquet"
    if path is None or not path.exists():
        table = stand_in().select(list(columns))
        source = f"generated stand-in for {name}"
    else:
        table, source = pq.read_table(path, columns=list(columns)), name
    table = table if rows is None else table.slice(0, rows)
    return table, f"{source}, {table.num_rows:,} people"
