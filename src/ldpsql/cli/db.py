"""`db`: what a database holds, and how long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ldpsql.errors import pluralize
from ldpsql.reports.forgery import find_signs, suspect
from ldpsql.store import merge_stores, open_store, read_store, vacuum_store
from ldpsql.store.base import Selection
from ldpsql.terminal import options
from ldpsql.terminal.failure import AT_FAULT
from ldpsql.terminal.notes import show_notes, show_text
from ldpsql.terminal.text import table_lines

if TYPE_CHECKING:
    from ldpsql.store import Imported
    from ldpsql.store.rules import StoredBatch


@click.group()
def db() -> None:
    """List, check, copy and forget what a database holds.

    One person's report cannot be deleted: nothing in a database says whose it is, not even the ids,
    which are stored apart from the reports. Whole batches and surveys can.
    """


@db.command("list", short_help="List batches, with days and counts.")
@click.argument("table", required=False)
@options.database
def list_batches(table: str | None, database: Path) -> None:
    """List the batches of the survey TABLE, or of all surveys.

    day: when the batch arrived (UTC). kept: its reports, only their counts, or nothing, because it
    was withdrawn, or because it is empty: all that it brought was there before, or refused.
    """
    if table and not table.isidentifier() and Path(table).exists():
        what = "folder" if Path(table).is_dir() else "file"
        raise click.UsageError(f"{table} is a {what} and not a survey: write --db {table}")
    with closing(read_store(database)) as store:
        tables = [table] if table else [intake.table for intake in store.intakes()]
        found = [
            (
                each,
                str(batch.number),
                batch.day.isoformat() if batch.day else "",
                f"{batch.reports:,}",
                f"{batch.skipped:,}",
                batch.state if batch.reports or batch.withdrawn is not None else "empty",
                batch.name,
            )
            for each in tables
            for batch in store.batches(each)
        ]
    head = ("survey", "batch", "day", "reports", "skipped", "kept", "brought by")
    right = [False, True, False, True, True, False, False]
    show_text("\n".join(table_lines(head, found, right)) if found else "no batches")


@db.command(short_help="Recount and verify everything.")
@options.database
@click.pass_context
def check(ctx: click.Context, database: Path) -> None:
    """Read everything in the database, recount and decode it, and say what is wrong.

    The exit code is 1 if anything is. It also lists signs of forged reports, and says of which
    reports only the number could be verified.
    """
    with closing(open_store(database, read_only=True)) as store:
        faults = store.check()
        surveys = len(store.intakes())
        for survey in [] if faults else store.surveys():
            batches = store.batches(survey.table)
            for state, what in (("counts", "total"), ("state", "number")):
                count = sum(batch.reports for batch in batches if batch.state == state)
                if count:
                    show_notes(
                        [
                            f"{survey.table}: of {pluralize(count, 'report')} only the {state} "
                            f"{'are' if state == 'counts' else 'is'} there, of which the {what} "
                            "was verified and nothing else can be"
                        ]
                    )
            if any(batch.state == "state" for batch in batches):
                continue
            ((_, histogram),) = store.histograms(survey.table, Selection())
            show_notes(suspect(survey.table, find_signs(survey.plan, histogram)))
    for fault in faults:
        show_text(fault)
    if faults:
        ctx.exit(AT_FAULT)
    show_text(f"{database}: {pluralize(surveys, 'survey')}, nothing is wrong", err=True)


@db.command(short_help="Copy surveys to a new database.")
@click.argument("tables", nargs=-1)
@options.output(required=True, explanation="The new database.")
@options.database
def export(tables: tuple[str, ...], target: Path, database: Path) -> None:
    """Copy the surveys TABLES, or everything, to a new database.

    The copy appears whole or not at all, and contains nothing that was deleted.
    """
    with closing(open_store(database, read_only=True)) as store:
        store.export(target, tables)
    show_text(f"{target}: written", err=True)


@db.command("import", short_help="Copy surveys from another database.")
@click.argument("source", type=options.EXISTING)
@click.argument("tables", nargs=-1)
@options.wait
@options.database
def import_surveys(source: Path, tables: tuple[str, ...], patience: float, database: Path) -> None:
    """Copy the surveys TABLES from the database SOURCE, or everything in it, all or nothing.

    Batches that both databases have count once. If the same reports came to both in different
    batches, nothing says which they are, and the import is refused. SOURCE is checked first, and is
    not changed.
    """
    with closing(open_store(database, read_only=False, patience=patience)) as store:
        _tell(store.import_surveys(source, tables))


@db.command(short_help="Write several databases to a new one.")
@click.argument("sources", nargs=-1, required=True, type=options.EXISTING)
@options.output(required=True, explanation="The new database.")
def merge(sources: tuple[Path, ...], target: Path) -> None:
    """Write everything in the databases SOURCES to a new one, by the rules of `import`.

    The new database appears whole or not at all, and SOURCES are not changed.
    """
    _tell(merge_stores(sources, target))


def _tell(taken: Sequence[Imported]) -> None:
    for each in taken:
        batches = "1 batch" if each.batches == 1 else f"{each.batches} batches"
        known = f", {each.known} already there" if each.known else ""
        reports = pluralize(each.reports, "report")
        show_text(f"{each.table}: {reports} in {batches}{known}", err=True)


@db.command(short_help="Withdraw batches, delete reports, or delete a survey.")
@click.argument("table")
@click.option("--batch", "numbers", type=int, multiple=True, help="Number of a batch; repeatable.")
@click.option(
    "--before",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="All batches that arrived before this day (UTC).",
)
@click.option("--all", "everything", is_flag=True, help="The whole survey.")
@click.option(
    "--keep",
    type=click.Choice(["counts", "state"]),
    help="Delete the reports but keep their counts; or delete the counts, too, and keep only what "
    "all reports together decode to. Answers still include them.",
)
@options.wait
@options.database
def forget(
    table: str,
    numbers: tuple[int, ...],
    day: datetime | None,
    everything: bool,
    keep: str | None,
    patience: float,
    database: Path,
) -> None:
    """Withdraw batches of the survey TABLE from all answers, and delete their reports.

    Answers are then as though the batches had never come. Their ids and names stay known, so their
    reports do not count when the same files come again. A batch of which only the counts are left
    cannot be withdrawn; and once only the decoded state of some batches is left, none can. Deleted
    data leaves the file with `ldpsql db vacuum`.
    """
    if bool(numbers) + (day is not None) + everything != 1:
        raise click.UsageError("say what to forget: --batch, --before or --all")
    with closing(open_store(database, read_only=False, patience=patience)) as store:
        if everything and keep is None:
            store.remove_survey(table)
            show_text(f"{table}: removed", err=True)
            return
        chosen = numbers or _find_batches(store.batches(table), day, keep)
        act = {"counts": store.delete_reports, "state": store.delete_counts}.get(keep or "")
        count = (act or store.withdraw)(table, chosen)
    verb = f"deleted, their {keep} kept" if keep else "withdrawn"
    show_text(f"{table}: {pluralize(count, 'report')} {verb}", err=True)


def _find_batches(
    batches: Iterable[StoredBatch], day: datetime | None, keep: str | None
) -> list[int]:
    """The numbers of all batches that came before a day and can be forgotten so far."""
    there = [batch for batch in batches if batch.withdrawn is None]
    if day is not None:
        unknown = sum(batch.day is None for batch in there)
        there = [batch for batch in there if batch.day and batch.day < day.date()]
        if unknown:
            note = f"an earlier version took {unknown} more and wrote no day down"
            show_notes([f"{note}; name them with --batch"])
    if keep == "counts":
        there = [batch for batch in there if batch.is_kept]
    elif keep == "state":
        there = [batch for batch in there if batch.is_counted]
    return [batch.number for batch in there]


@db.command(short_help="Rewrite the file without what was deleted.")
@options.wait
@options.database
def vacuum(database: Path, patience: float) -> None:
    """Rewrite the database file without what was deleted from it.

    Meanwhile there must be room for a second file. It also upgrades a database of an earlier
    version of ldpsql.
    """
    before = database.stat().st_size if database.exists() else 0
    vacuum_store(database, patience=patience)
    now = database.stat().st_size
    show_text(f"{database}: {now / 1e6:,.1f} MB, before {before / 1e6:,.1f} MB", err=True)
