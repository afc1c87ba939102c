"""Run the common work and print its table: `python -m benchmarks.peers`."""

from __future__ import annotations

import argparse
import csv
import functools
import json
import math
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.figures.cases import Cases, Row
from benchmarks.peers import folder, ours
from benchmarks.peers.table import lines
from benchmarks.peers.work import DATA, SHAPES, Task, codes_of, queries_of, truth
from ldpsql_device.errors import SurveyError

Answers = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, float]]


def main(arguments: Sequence[str]) -> None:
    asked = _parser().parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    cases = Cases(asked.folder / "cases", "peers", Path(__file__).parent)
    rows: list[Row] = []
    for epsilon, names in product(asked.epsilon.split(","), ours.ORDER):
        for task, name in product(_tasks(asked, epsilon, asked.people), names):
            work = functools.partial(ours.answers, task, name)
            rows += _rows(cases, task, name, work, asked.runs, asked.queries)
            _keep(rows, asked)
    peers = [*folder.installed(), *asked.peer]
    for epsilon in asked.epsilon.split(","):
        for task in _tasks(asked, epsilon, asked.peer_people):
            for name in ours.COMPARED:
                work = functools.partial(ours.answers, task, name)
                rows += _rows(cases, task, name, work, asked.peer_runs, asked.queries)
            for peer in peers:
                work, runs = functools.partial(peer.answers, task), asked.peer_runs
                rows += _rows(cases, task, peer.name, work, runs, asked.queries, peer.command)
                _keep(rows, asked)
    print("\n".join(lines(rows)))


def _tasks(asked: argparse.Namespace, epsilon: str, people: int) -> list[Task]:
    """What so many people are asked; nothing for 0 of them."""
    return [
        Task(shape, data, epsilon, people)
        for shape in asked.shapes
        for data in DATA
        if people and (data != "correlated" or len(SHAPES[shape]) > 1)
    ]


def _rows(
    cases: Cases,
    task: Task,
    name: str,
    work: Answers,
    runs: int,
    queries: int,
    command: Sequence[str] = (),
) -> list[Row]:
    """One row: root mean square error as a share of the people, or why there is none.

    A failure is not kept: what is missing may be installed before the next run.
    """
    key = {"task": str(task), "name": name, "runs": runs, "queries": queries, "command": command}
    try:
        return cases.rows(key, functools.partial(_measured, task, name, work, runs, queries))
    except (SurveyError, folder.CannotDo) as reason:
        return [_row(task, name, runs, why=" ".join(str(reason).split()))]


def _measured(task: Task, name: str, work: Answers, runs: int, queries: int) -> list[Row]:
    boxes, exact = _asked(task, queries)
    codes = codes_of(task)
    try:
        found = [work(codes, boxes, seed) for seed in range(runs)]
    except folder.TooSlow as reason:
        return [_row(task, name, runs, why=str(reason))]
    error = math.sqrt(np.mean([np.mean((shares - exact) ** 2) for shares, _ in found]))
    seconds = float(np.mean([seconds for _, seconds in found]))
    print(f"{task} {name}: {100 * error:.3f} %", file=sys.stderr, flush=True)
    return [_row(task, name, runs, error, seconds)]


def _row(
    task: Task,
    name: str,
    runs: int,
    error: float = math.nan,
    seconds: float = math.nan,
    why: str = "",
) -> Row:
    return {
        "shape": task.shape,
        "data": task.data,
        "epsilon": float(task.epsilon),
        "name": name,
        "people": task.people,
        "runs": runs,
        "error": error,
        "seconds": seconds,
        "why": why,
    }


@functools.cache
def _asked(task: Task, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """The questions and the true shares; counting a million people takes longer than answering."""
    boxes = queries_of(task, queries)
    return boxes, truth(codes_of(task), boxes)


def _keep(rows: Sequence[Row], asked: argparse.Namespace) -> None:
    with (asked.folder / "peers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    parameters = {key: value for key, value in vars(asked).items() if key not in ("folder", "peer")}
    (asked.folder / "peers.json").write_text(json.dumps({"parameters": parameters, "rows": rows}))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("-o", dest="folder", type=Path, default=Path("out/peers"))
    parser.add_argument("--people", type=int, default=1_000_000, help="for ours; 0: none")
    parser.add_argument("--peer-people", type=int, default=1_000_000, help="0: none")
    parser.add_argument("--epsilon", default="0.5,1,2")
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--peer", action="append", default=[], type=folder.named, metavar="NAME=COMMAND"
    )
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
