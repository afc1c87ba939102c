"""Reading a task and writing its answers; runs under a peer's own Python, without ldpsql."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CANNOT = 3


def cannot(reason):
    """End, saying why."""
    print(reason, file=sys.stderr)
    sys.exit(CANNOT)


def task():
    """The task, codes (n, d), and queries (k, d, 2)."""
    folder = Path(sys.argv[1])
    parameters = json.loads((folder / "task.json").read_text())
    people = pq.read_table(folder / "codes.parquet")
    asked = pq.read_table(folder / "queries.parquet")
    axes = range(len(parameters["sizes"]))
    codes = np.stack([people[f"c{i}"].to_numpy() for i in axes], axis=1)
    queries = np.stack(
        [np.stack([asked[f"{end}{i}"].to_numpy() for end in ("lo", "hi")], axis=1) for i in axes],
        axis=1,
    )
    return parameters, codes, queries


def answer(shares):
    """Write one share per query."""
    pq.write_table(
        pa.table({"share": np.asarray(shares, dtype=float)}), Path(sys.argv[1]) / "answers.parquet"
    )


def range_shares(cells, queries):
    """Sums of estimated cells, shape `sizes`, over boxes."""
    found = []
    for box in queries:
        found.append(cells[tuple(slice(int(lo), int(hi)) for lo, hi in box)].sum())
    return found


def imported(name):
    """A module, or the end of the run where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        cannot(f"{name} is not installed ({error})")
