"""`bench`: mechanisms compared on a table of one's own. `demo`: a survey of made-up people."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.formats import TABLE_SUFFIXES, Document, write_document
from ldpsql.cli.progress import Progress

if TYPE_CHECKING:
    from ldpsql.bench.harness import RunsDone
    from ldpsql.bench.questions import Draft, Question
    from ldpsql.bench.runs import Comparison


@click.command(short_help="Compare mechanisms on a table of your own, against the truth.")
@click.argument("source", metavar="TABLE", type=click.Path(path_type=Path))
@click.option(
    "--survey",
    "survey",
    type=options.survey_file,
    required=True,
    metavar="SURVEY.toml",
    help="Which columns, with which domains and bounds.",
)
@click.option(
    "--mechanisms",
    type=options.CommaList(str),
    default=(),
    metavar="A,B",
    help="NAME[:KEY=VALUE...][/ESTIMATOR], such as hio:inference=consistent, fourier/smooth or "
    "auto.  [default: every one that fits and promises something]",
)
@click.option(
    "--include-unsound", is_flag=True, help="Take mechanisms along that are not private, marked."
)
@click.option("--counts-only", is_flag=True, help="Leave the measures out of the survey.")
@click.option(
    "--epsilon",
    type=options.CommaList(str),
    metavar="E,...",
    help="Epsilons.  [default: the survey's]",
)
@click.option(
    "--users",
    type=options.CommaList(int, 1),
    metavar="N,...",
    help="Draw this many people from the table, with replacement where it has too few.  "
    "[default: all of them, as they are]",
)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="KIND|FILE.sql",
    help="ranges, prefixes, points, groups, or a file of SQL; repeatable.  [default: ranges]",
)
@click.option(
    "--predicates",
    type=options.CommaList(int, 1),
    default="1,2",
    metavar="D,...",
    help="How many dimensions a question is about.",
)
@click.option(
    "--volume",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.15,
    help="The share of a dimension's codes that a range holds.",
)
@click.option(
    "--queries",
    "count",
    type=click.IntRange(min=1),
    default=50,
    help="Questions of each kind and number of predicates.",
)
@click.option(
    "--aggregates",
    type=options.CommaList(str),
    default="count,sum,avg",
    metavar="A,...",
    help="What is asked of the people in question.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=5,
    help="How often everybody answers, each time anew.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Worker processes.")
@options.confidence
@click.option("--skip-invalid", is_flag=True, help="Leave out people whose record does not fit.")
@click.option(
    "-o",
    "--output",
    "target",
    type=options.TABLE_FILE,
    help=f"Write the results to this file; its suffix says how: {', '.join(TABLE_SUFFIXES)}.",
)
@click.option(
    "--plot",
    "pictures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Draw figures, and a page that shows them, into this folder. Needs "
    "`pip install ldpsql[plot]`.",
)
@click.option(
    "--cases",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep finished cases here; what is here already is not run again.  [default: beside -o, "
    "or in the folder of --plot; nothing is kept without either]",
)
def bench(
    source: Path,
    survey: Path,
    mechanisms: tuple[str, ...],
    include_unsound: bool,
    counts_only: bool,
    epsilon: tuple[str, ...] | None,
    users: tuple[int, ...] | None,
    workloads: tuple[str, ...],
    predicates: tuple[int, ...],
    volume: float,
    count: int,
    aggregates: tuple[str, ...],
    repetitions: int,
    seed: int,
    jobs: int,
    confidence: float,
    skip_invalid: bool,
    target: Path | None,
    pictures: Path | None,
    folder: Path | None,
) -> None:
    """Have the people of TABLE (Parquet or CSV) answer a survey by every mechanism, and compare
    the estimates with the truth.

    The table holds raw values, so this is for tables that may be looked at. A run that was stopped
    goes on where it was.
    """
    options.keep_inputs(target, source, survey)

    from ldpsql.bench.candidates import counts_only as without_measures  # noqa: PLC0415
    from ldpsql.bench.candidates import read_candidates  # noqa: PLC0415
    from ldpsql.bench.questions import KINDS, Draft, Wanted  # noqa: PLC0415
    from ldpsql.bench.runs import Comparison  # noqa: PLC0415
    from ldpsql.bench.truth import People  # noqa: PLC0415
    from ldpsql.designer.file import read_file  # noqa: PLC0415
    from ldpsql_device.epsilon import Epsilon  # noqa: PLC0415

    if pictures is not None:
        from ldpsql.plots.charts import require_matplotlib  # noqa: PLC0415

        require_matplotlib()
    _make_folders(target, pictures)
    file = read_file(survey, epsilon=epsilon[0] if epsilon else None)
    if counts_only:
        file = without_measures(file)
    summed = file.schema.measures or [c for c in file.schema.public if c.is_numeric]
    if counts_only or (not summed and "count" in aggregates):
        aggregates = ("count",)  # there is nothing to sum
    draft = Draft(file.table, file.schema)
    wanted = Wanted((), predicates, volume, count, aggregates, seed)
    questions = _questions(workloads or ("ranges",), wanted, draft)
    comparison = Comparison(
        file,
        People.read(file.schema, source, skip_invalid=skip_invalid),
        questions,
        read_candidates(mechanisms),
        tuple(dict.fromkeys(str(Epsilon.parse(text)) for text in epsilon or (str(file.epsilon),))),
        users or (None,),
        repetitions,
        seed,
        confidence,
        include_unsound,
    )
    made_up = tuple(kind for kind in workloads or ("ranges",) if kind in KINDS)
    notes = [*replace(wanted, kinds=made_up).not_asked(draft)] if made_up else []
    if comparison.people.skipped:
        notes.append(f"{comparison.people.skipped} records did not fit and were skipped")
    for note in notes:
        click.echo(f"note: {note}", err=True)
    with _kept(folder, target, pictures) as place:
        _compare(comparison, place, jobs, target, pictures, source.name)


def _make_folders(target: Path | None, pictures: Path | None) -> None:
    """OSError, before any work, where the results could not be written in the end."""
    for place in (target, pictures / "index.html" if pictures else None):
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            options.check_writable(place)


def _questions(workloads: Sequence[str], wanted: Any, draft: Draft) -> tuple[Question, ...]:
    from ldpsql.bench.questions import KINDS, from_texts  # noqa: PLC0415

    questions: list[Question] = []
    for workload in dict.fromkeys(workloads):
        if workload in KINDS:
            questions += replace(wanted, kinds=(workload,)).questions(draft)
        elif workload.lower().endswith(".sql"):
            questions += from_texts(_statements(Path(workload)), Path(workload).name, draft)
        else:
            raise click.UsageError(
                f"--workload is one of {', '.join(KINDS)}, or a file that ends in .sql, "
                f"not {workload!r}"
            )
    return tuple(questions)


def _statements(path: Path) -> list[tuple[int, str]]:
    """The statements of a file, each with the number of its first line."""
    from ldpsql.parser.source import is_blank, split_statements  # noqa: PLC0415

    text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    statements, line = [], 1
    for part in split_statements(text):
        body = part.lstrip()
        if not is_blank(body):
            first = line + part[: len(part) - len(body)].count("\n")
            statements.append((first, body.rstrip()))
        line += part.count("\n")
    return statements


@contextmanager
def _kept(folder: Path | None, target: Path | None, pictures: Path | None) -> Iterator[Path]:
    """Where finished cases go."""
    if folder is None and target is not None:
        folder = target.with_name(f"{target.name}.cases")
    if folder is None and pictures is not None:
        folder = pictures / "cases"
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="ldpsql-bench-") as name:
        yield Path(name)


def _compare(
    comparison: Comparison,
    place: Path,
    jobs: int,
    target: Path | None,
    pictures: Path | None,
    name: str,
) -> None:
    from ldpsql.bench.harness import compare  # noqa: PLC0415
    from ldpsql.bench.summary import lines, refusals, table  # noqa: PLC0415
    from ldpsql.cli.bench_results import tables, write_page  # noqa: PLC0415
    from ldpsql_device.errors import SurveyError  # noqa: PLC0415

    run = 0
    with Progress("comparing", sys.stderr) as shown:

        def say(progress: RunsDone) -> None:
            nonlocal run
            run += 1
            shown.advance(progress.done, progress.total)
            shown.show(_line(progress))

        outcomes = compare(comparison, place, jobs=jobs, say=say)
    kept = f" ({len(outcomes) - run} done before)" if run < len(outcomes) else ""
    click.echo(f"{len(outcomes)} of {len(outcomes)} runs{kept}", err=True)
    for label, reason in refusals(outcomes).items():
        click.echo(f"left out: {label}: {reason}", err=True)
    results = lines(outcomes)
    if not results:
        left_out = all(outcome.refused is not None for _, outcome in outcomes)
        what = "no mechanism fits this survey" if left_out else "the answers have no rows"
        raise SurveyError(what)
    if target is not None:
        rows = table(results)
        write_document(Document(schema=rows.schema, batches=[rows]), None, target)
    for block in tables(results):
        click.echo(block)
    if pictures is not None:
        page = write_page(results, pictures, name, comparison.confidence)
        click.echo(f"figures: {page}", err=True)


def _line(progress: RunsDone) -> str:
    """What was run last, and how long the rest may take."""
    case = progress.case
    kept = f"{progress.kept} done before, " if progress.kept else ""
    left = "" if progress.left is None else f"{timedelta(seconds=round(progress.left))} left, "
    return f"{kept}{left}{case.candidate.label}, epsilon {case.epsilon}, {case.users} people"


@click.command(short_help="Run a whole survey on generated people.")
def demo() -> None:
    """Generate a shopping table, run a survey on it, ask four questions, compare with the truth."""
    from ldpsql.demo import run  # noqa: PLC0415

    run(click.echo)
