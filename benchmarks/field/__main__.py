"""Run the table of the field: `python -m benchmarks.field [--runs N] [-o FOLDER] [--list]`.

A minute or two by default (two surveys of each mechanism, epsilon 1); `--full` is what is stored.
Finished cases are kept in the folder, so a run that was stopped resumes where it was.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import averages
from benchmarks.field import many_values, means, ranges, risks
from benchmarks.field.work import EPSILONS, PEOPLE, RANGES, TABLES, Table
from benchmarks.figures.cases import Cases, Listing, Row, source_hash
from ldpsql_device.atomic import replace_file

HERE = Path(__file__).parent
PARTS = ("ranges", "reconstruction", "means", "values", "costs", "re-identification")
FULL_RUNS, QUICK_RUNS, QUICK_TABLES = 10, 2, 6
_TARGET = Path("out/field")


def main(arguments: Sequence[str]) -> None:
    asked = _parser().parse_args(arguments)
    asked.part = asked.part or list(PARTS)
    asked.runs = asked.runs or (FULL_RUNS if asked.full else QUICK_RUNS)
    asked.tables = asked.tables or (len(TABLES) if asked.full else QUICK_TABLES)
    asked.epsilons = EPSILONS if asked.full else EPSILONS[:1]
    listing = Listing(asked.folder / "cases", "field", HERE)
    for _ in _every(listing, asked):
        pass
    seconds = listing.seconds()
    about = "unknown" if seconds is None else f"about {seconds / 60:.0f} minutes of a processor"
    todo = f"{len(listing.missing)} cases to measure, {listing.kept} kept; time {about}"
    print(todo, file=sys.stderr, flush=True)
    if asked.list:
        return
    found: dict[str, list[Row]] = {part: [] for part in asked.part}
    every = len(listing.missing) + listing.kept
    cases = Cases(asked.folder / "cases", "field", HERE)
    for number, (part, rows) in enumerate(_every(cases, asked), 1):
        found[part] += rows
        _keep(found, (number, every), asked)


def _keep(
    found: Mapping[str, Sequence[Row]], cases: tuple[int, int], asked: argparse.Namespace
) -> None:
    """Save what is measured so far, with its day and version. cases: how many are done, and of how
    many."""
    parameters = {"people": asked.people, "ranges": RANGES, "runs": asked.runs}
    summary = {
        "parameters": {
            **parameters,
            "tables": [f"{table.shape}, {table.name}" for table in _tables(asked)],
            "epsilons": asked.epsilons,
            "re-identification": [risks.PEOPLE, risks.TARGETS],
            "cases": cases,
        },
        "date": datetime.now(UTC).date().isoformat(),
        "version": f"{version('ldpsql')}, source {source_hash(HERE)[:12]}",
        "parts": {part: _columns(rows) for part, rows in found.items()},
    }
    with replace_file(asked.folder / "field.json") as temporary:
        temporary.write_text(json.dumps(summary))


def _tables(asked: argparse.Namespace) -> list[Table]:
    """The tables that were asked for and are available."""
    return [table for table in TABLES[: asked.tables] if table.is_here]


def _every(cases: Cases, asked: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    """The cases one after the other: the part that each belongs to, and its rows."""
    people, tables = asked.people, _tables(asked)

    def case(part: str, work: Callable[[], Iterable[Row]], **key: Any) -> tuple[str, list[Row]]:
        return part, cases.rows({"part": part, **key}, lambda: list(work()))

    for epsilon in asked.epsilons:
        for part in asked.part:
            if part == "ranges":
                for table, name in _pairs(tables):
                    seeds = range(_runs_of(name, asked.runs))
                    work = functools.partial(ranges.measure, name, table, epsilon, people, seeds)
                    where = {"table": f"{table.shape}, {table.name}", "epsilon": epsilon}
                    yield case(part, work, **where, name=name, runs=len(seeds), people=people)
            elif part == "costs":
                # One table of each shape, a real one if there is one.
                for table, name in _pairs({table.shape: table for table in tables}.values()):
                    work = functools.partial(_one, ranges.costs, name, table, epsilon, people)
                    key = {"table": table.shape, "epsilon": epsilon, "name": name}
                    yield case(part, work, **key, people=people)
            elif part == "reconstruction":
                lines = [table for table in tables if len(table.sizes) == 1]
                for table, name in _pairs(lines[-1:]):
                    measured = (risks.reconstruction, name, table, epsilon, people)
                    work = functools.partial(_one, *measured)
                    key = {"table": table.name, "epsilon": epsilon, "name": name}
                    yield case(part, work, **key, people=people)
            elif part == "values":
                for kind in many_values.TABLES:
                    work = functools.partial(_if_here, many_values.rows, kind, epsilon, people)
                    yield case(part, work, table=kind, epsilon=epsilon, people=people)
            elif part == "means":
                for source in averages.SOURCES:
                    work = functools.partial(means.rows, source, epsilon)
                    key = {"table": source.column, "of": source.table, "epsilon": epsilon}
                    yield case(part, work, **key, people=people)
            elif part == "re-identification":
                for name in ranges.NAMES:
                    work = functools.partial(_if_here, risks.re_identification, name, epsilon)
                    yield case(part, work, name=name, epsilon=epsilon, people=people)


def _pairs(tables: Iterable[Table]) -> Iterator[tuple[Table, str]]:
    """Every table with every mechanism that can serve it."""
    for table in tables:
        for name in ranges.NAMES:
            if not ranges.refuses(name, table.sizes):
                yield table, name


def _runs_of(name: str, runs: int) -> int:
    """Half as many surveys for published mechanisms with large errors, or that take long."""
    is_far = name in ranges.OURS and name not in (ranges.UNBIASED, ranges.SMOOTH, ranges.LEAN)
    return max(2, runs // 2) if is_far else runs


def _one(work: Callable[..., Row], *arguments: Any) -> list[Row]:
    return [work(*arguments)]


def _if_here(work: Callable[..., Iterable[Row]], *arguments: Any) -> list[Row]:
    """No rows where the table is not available."""
    try:
        return list(work(*arguments))
    except FileNotFoundError:
        return []


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {key: [row[key] for row in rows] for key in rows[0]} if rows else {}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field", description=__doc__)
    parser.add_argument("--full", action="store_true", help="three epsilons, more of all")
    parser.add_argument("--runs", type=int, default=0, help="surveys of each mechanism")
    parser.add_argument("--tables", type=int, default=0, help="only the first so many")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--part", action="append", choices=PARTS, help="all by default")
    parser.add_argument("--list", action="store_true", help="only say what there is to measure")
    parser.add_argument("-o", dest="folder", type=Path, default=_TARGET)
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
