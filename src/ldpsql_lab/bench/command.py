"""`bench`: mechanisms compared on a table of one's own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ldpsql.designer.file import read_file
from ldpsql.randomize.notes import misfit_notes, person_notes, zone_notes
from ldpsql.terminal import options
from ldpsql.terminal.formats import TABLE_SUFFIXES, Document, write_document
from ldpsql.terminal.notes import show_line, show_notes, show_text
from ldpsql.terminal.progress import Progress
from ldpsql.wording.numbers import read_people
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.bench.candidates import read_candidates
from ldpsql_lab.bench.harness import ComparisonPlan, RunsDone, compare
from ldpsql_lab.bench.questions import KINDS, Wanted, read_questions
from ldpsql_lab.bench.summary import lines, refusals, table
from ldpsql_lab.bench.truth import People

if TYPE_CHECKING:
    from ldpsql.designer.file import SurveyFile
    from ldpsql_lab.bench.questions import Question
    from ldpsql_lab.bench.summary import Line


@click.command()
@click.argument("source", metavar="TABLE", type=click.Path(path_type=Path))
@click.option(
    "--survey",
    type=options.EXISTING,
    required=True,
    metavar="SURVEY.toml",
    help="Which columns, with which domains and bounds.",
)
@click.option(
    "--mechanisms",
    type=options.comma_list(str),
    metavar="A,B",
    help="NAME[:KEY=VALUE...][/ESTIMATOR], such as hio:inference=consistent, fourier/smooth or "
    "auto.  [default: every one that fits and promises something]",
)
@click.option(
    "--include-unsound",
    is_flag=True,
    help="Include mechanisms that are not private; they are marked.",
)
@click.option("--counts-only", is_flag=True, help="Leave the measures out of the survey.")
@click.option(
    "--epsilon",
    type=options.comma_list(str),
    metavar="E,...",
    help="Epsilons.  [default: the survey's]",
)
@click.option(
    "--users",
    type=options.comma_list(read_people, 1),
    metavar="N,...",
    help="Draw so many people (45000, 45k, 1.5m) from the table, with replacement where it has "
    "too few.  [default: all of them, as they are]",
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
    type=options.comma_list(int, 1),
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
    type=options.comma_list(str),
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
@options.output(
    options.TABLE_FILE,
    f"Write the results to this file; its suffix says how: {', '.join(TABLE_SUFFIXES)}.",
)
@click.option(
    "--plot",
    "pictures",
    type=options.FOLDER,
    metavar="FOLDER",
    help="Draw figures, and a page that shows them, into this folder. Needs "
    "`pip install ldpsql[plot]`.",
)
@click.option(
    "--cases",
    "folder",
    type=options.FOLDER,
    metavar="FOLDER",
    help="Keep finished cases here; what is here already is not run again.  [default: beside -o, "
    "or in the folder of --plot; nothing is kept without either]",
)
def bench(
    source: Path,
    survey: Path,
    mechanisms: tuple[str, ...] | None,
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
    target: Path | None,
    pictures: Path | None,
    folder: Path | None,
) -> None:
    """Have the people of TABLE (Parquet or CSV) answer a survey with every mechanism, and compare
    the estimates with the truth.

    TABLE holds raw values, so use only tables that you may look at. A run that was stopped
    continues where it stopped.
    """
    options.keep_inputs(target, source, survey)

    from ldpsql.terminal.figures import require_matplotlib  # noqa: PLC0415
    from ldpsql_lab.bench.results import tables, write_page  # noqa: PLC0415

    if pictures is not None:
        require_matplotlib()
    for written in (target, pictures / "index.html" if pictures else None):
        if written is not None:  # an OSError comes before any work
            written.parent.mkdir(parents=True, exist_ok=True)
            options.check_writable(written)
    file = read_file(survey, epsilon=epsilon[0] if epsilon else None)
    if counts_only:
        if not file.schema.dimensions:
            raise SurveyError("without its measures the survey has no column to ask about")
        file = replace(file, schema=replace(file.schema, measures=()), workload_options=None)
    summed = file.schema.measures or [c for c in file.schema.public if c.is_numeric]
    if counts_only or (not summed and "count" in aggregates):
        aggregates = ("count",)  # there is nothing to sum
    workloads = workloads or ("ranges",)
    wanted = Wanted((), predicates, volume, count, aggregates, seed)
    with Progress("reading", sys.stderr):
        comparison = ComparisonPlan(
            file,
            People.read(file.schema, source, seed, file.person),
            _questions(workloads, wanted, file),
            read_candidates(mechanisms or ()),
            tuple(
                dict.fromkeys(str(Epsilon.parse(text)) for text in epsilon or (str(file.epsilon),))
            ),
            users or (None,),
            repetitions,
            seed,
            confidence,
            include_unsound,
        )
    made_up = tuple(kind for kind in workloads if kind in KINDS)
    notes = [*replace(wanted, kinds=made_up).not_asked(file)] if made_up else []
    misfits = misfit_notes(file.schema, comparison.people.tally)
    notes += [f"{each}, in the truth too" for each in misfits]
    notes += [
        *zone_notes(source, file.schema),
        *person_notes(source, file.person, file.schema),
    ]
    show_notes(notes)
    beside = target.with_name(f"{target.name}.cases") if target else None
    results = _results(comparison, folder or beside or (pictures and pictures / "cases"), jobs)
    if target is not None:
        rows = table(results)
        write_document(Document(schema=rows.schema, batches=[rows]), None, target)
    for block in tables(results):
        show_text(block)
    if pictures is not None:
        page = write_page(results, pictures, source.name, confidence)
        show_text(f"figures: {page}", err=True)


def _results(comparison: ComparisonPlan, folder: Path | None, jobs: int) -> list[Line]:
    """Run what `folder` does not hold; SurveyError where there is nothing to compare."""
    kept = len(comparison.cases)
    with (
        tempfile.TemporaryDirectory(prefix="ldpsql-bench-") as temporary,
        Progress("comparing", sys.stderr) as shown,
    ):

        def say(run: RunsDone) -> None:
            nonlocal kept
            kept, case = run.kept, run.case
            shown.advance(run.done, run.total)
            known = f"{kept} done before, " if kept else ""
            left = f"{timedelta(seconds=round(run.left))} left"
            setting = f"{case.candidate.label}, epsilon {case.epsilon}, {case.users} people"
            shown.show(f"{known}{left}, {setting}")

        outcomes = compare(comparison, folder or Path(temporary), jobs=jobs, say=say)
    before = f" ({kept} done before)" if kept else ""
    left_out, results = refusals(outcomes), lines(outcomes)
    if all(outcome.refused is not None for _, outcome in outcomes) and len(left_out) == 1:
        ((label, reason),) = left_out.items()
        raise SurveyError(f"{label} does not fit this survey: {reason}")
    show_text(f"{len(outcomes)} of {len(outcomes)} runs{before}", err=True)
    for label, reason in left_out.items():
        show_line(f"left out: {label}: {reason}")
    if not results:
        raise SurveyError(
            "no mechanism fits this survey" if left_out else "the answers have no rows"
        )
    return results


def _questions(workloads: Sequence[str], wanted: Wanted, file: SurveyFile) -> tuple[Question, ...]:
    questions: list[Question] = []
    for workload in dict.fromkeys(workloads):
        if workload in KINDS:
            questions += replace(wanted, kinds=(workload,)).questions(file)
        elif workload.lower().endswith(".sql"):
            questions += read_questions(Path(workload), file)
        else:
            raise click.UsageError(
                f"--workload is one of {', '.join(KINDS)}, or a file that ends in .sql, "
                f"not {workload!r}"
            )
    return tuple(questions)
