"""A peer that is a command: the task in a folder, the answers from it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers import ours
from benchmarks.peers.work import Task

CANNOT = 3
ADAPTERS = Path(__file__).parent / "adapters"
PACKAGES = {
    "pure-ldp": "pure_ldp_olh",
    "multi-freq-ldpy": "multi_freq",
    "LDP-hierarchical-mechanism": "hierarchical",
}
LONGEST = 900.0  # seconds


class CannotDo(Exception):
    """The peer is not installed, or not for this task; the message says which."""


class TooSlow(CannotDo):
    """The peer was not done in time, and would not be if it were asked again."""


@dataclass(frozen=True)
class Peer:
    """A name, and the words of its command; the folder is added."""

    name: str
    command: tuple[str, ...]

    def answers(
        self, task: Task, codes: np.ndarray, queries: np.ndarray, seed: int
    ) -> tuple[np.ndarray, float]:
        """Estimated shares, and seconds. CannotDo with the reason."""
        if not self.command:
            raise CannotDo("not installed: LDPSQL_PEERS_PYTHON names no Python")
        with tempfile.TemporaryDirectory(prefix="ldpsql-peer-") as name:
            folder = Path(name)
            _write(folder, task, codes, queries, seed)
            started = time.perf_counter()
            try:
                done = subprocess.run(
                    [*self.command, name],
                    check=False,
                    capture_output=True,
                    text=True,
                    timeout=LONGEST,
                )
            except subprocess.TimeoutExpired:
                raise TooSlow(f"not done after {LONGEST:.0f} s") from None
            except OSError as error:
                raise CannotDo(f"cannot be started: {error.strerror}") from None
            seconds = time.perf_counter() - started
            said = done.stderr.strip().splitlines() or ["no reason given"]
            if done.returncode == CANNOT:
                raise CannotDo(said[-1])
            if done.returncode:
                raise CannotDo(f"failed: {said[-1]}")
            shares = _read(folder / "answers.parquet")
        if len(shares) != len(queries) or not np.isfinite(shares).all():
            known = np.isfinite(shares).sum()
            raise CannotDo(f"failed: gave {known} numbers to {len(queries)} questions")
        return shares, seconds


def installed() -> list[Peer]:
    """The packages that there are adapters for."""
    python = os.environ.get("LDPSQL_PEERS_PYTHON")
    return [
        Peer(name, (python, str(ADAPTERS / f"{module}.py")) if python else ())
        for name, module in PACKAGES.items()
    ]


def named(text: str) -> Peer:
    """NAME=COMMAND. ValueError for another form, and for the name of somebody else."""
    name, _, command = text.partition("=")
    if not name or not command.strip() or name in PACKAGES or name in ours.MECHANISMS:
        raise ValueError(f"{text!r} is not NAME=COMMAND of a new name")
    return Peer(name, tuple(shlex.split(command)))


def _read(path: Path) -> np.ndarray:
    try:
        shares: np.ndarray = pq.read_table(path)["share"].to_numpy().astype(float)
    except (pa.ArrowException, OSError, LookupError, ValueError):
        raise CannotDo("failed: wrote no answers.parquet with numbers in a column share") from None
    return shares


def _write(folder: Path, task: Task, codes: np.ndarray, queries: np.ndarray, seed: int) -> None:
    parameters = {"epsilon": float(task.epsilon), "sizes": list(task.sizes), "seed": seed}
    (folder / "task.json").write_text(json.dumps(parameters))
    pq.write_table(
        pa.table({f"c{i}": column for i, column in enumerate(codes.T)}), folder / "codes.parquet"
    )
    columns = {
        f"{end}{axis}": queries[:, axis, place]
        for axis in range(queries.shape[1])
        for place, end in enumerate(("lo", "hi"))
    }
    pq.write_table(pa.table(columns), folder / "queries.parquet")
