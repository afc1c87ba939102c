"""A question from the command line, in a process of its own, over the import of its libraries.

Processor time of whole processes, each beside one that imports the libraries and nothing else. What
a question takes is divided: `loading` is a process that imports the modules which the question
loads, and ends at once, as the command does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import decoded, speed
from benchmarks.tables import print_table
from benchmarks.timing import Pair, children_seconds, run_python, side_by_side
from ldpsql.designer import design
from ldpsql.randomize.table import randomize
from ldpsql.store import open_store
from ldpsql_lab.simulation import accept_everything

REPORTS, PAIRS = 100_000, 15
QUESTION = speed.QUESTION.format(30, 45, 9)
LOADED = (
    "import ldpsql.__main__, ldpsql.cli.main, ldpsql.dbapi.asking, ldpsql.store.reader, "
    "ldpsql.engine.session, ldpsql.mechanisms.{recipe}.recipe; import os; os._exit(0)"
)


def run() -> None:
    """Print the table."""
    print_table(
        f"A cold question about {REPORTS:,} reports: processor seconds",
        ("survey", "question", "libraries", "over them", "loading", "over them"),
        _rows(),
    )


def _rows() -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, recipe in (("hio", "hierarchical"), ("fourier", "fourier")):
            survey = design(speed.SURVEY.replace('"hio"', f'"{name}"'))
            path = Path(folder) / f"{name}.duckdb"
            reports = randomize(survey, speed.people(REPORTS), policy=accept_everything(survey))
            with open_store(path, read_only=False) as store:
                store.ingest_table(reports, survey)
            yield _row(f"`{name}`, two dimensions", path, QUESTION, recipe)
        path = Path(folder) / "six.duckdb"
        decoded.fill(path, REPORTS)
        families = f"`fourier`, {decoded.survey().plan.questions:,} families"
        yield _row(families, path, decoded.SIMPLE, "fourier")


def _row(survey: str, path: Path, question: str, recipe: str) -> tuple[str, ...]:
    asked = _pair("-m", "ldpsql", "--db", str(path), question)
    loaded = _pair("-c", LOADED.format(recipe=recipe))
    seconds = (f"{asked.ours:.2f}", f"{asked.other:.2f}", f"{asked.ratio:.2f}")
    return survey, *seconds, f"{loaded.ours:.2f}", f"{loaded.ratio:.2f}"


def _pair(*arguments: str) -> Pair:
    return side_by_side(
        lambda: run_python(*arguments),
        lambda: run_python("-c", speed.LIBRARIES),
        runs=PAIRS,
        clock=children_seconds,
    )
