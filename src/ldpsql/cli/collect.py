"""Collection: `randomize` runs on the device and sees raw values; `shuffle` runs at the shuffler
and `ingest` at the collector, and both see reports.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options
from ldpsql.cli.notes import show_notes
from ldpsql.cli.progress import Progress
from ldpsql.errors import pluralize
from ldpsql.text import misfit_notes, person_notes, zone_notes

if TYPE_CHECKING:
    from ldpsql.remote import RemoteStore
    from ldpsql.store import Batch, Store


@click.command(short_help="Turn people's records into reports (device side).")
@click.argument("data", type=click.Path(dir_okay=False, path_type=Path))
@options.published_survey
@options.output(options.REPORT_FILE, "Parquet file for the reports.", required=True)
@click.option(
    "--max-epsilon",
    metavar="NUMBER",
    help="The largest epsilon of a single report, even if it is to be shuffled. [default: the "
    "survey's]",
)
@click.option("--public", default="", metavar="A,B", help="Columns that may travel in clear.")
@click.option(
    "--accept-disclosure",
    is_flag=True,
    help="Answer a survey that may give away values it does not declare sensitive, or, with a "
    "small probability, the whole record.",
)
@click.option(
    "--accept-no-guarantee",
    is_flag=True,
    help="Answer a survey whose mechanism is not differentially private.",
)
@click.option(
    "--person",
    "column",
    metavar="COLUMN",
    help="The column that tells persons apart, where they have several rows: one of them answers, "
    "drawn evenly.  [default: what the survey's collector's part says]",
)
@click.option(
    "--keep-order",
    is_flag=True,
    help="Write the reports in the order of the people, which reveals whose report is whose.",
)
@click.option(
    "--rounds",
    "deals",
    is_flag=True,
    help="For a survey in rounds: deal the people to the rounds, and let those of this round "
    "answer. Everybody is in one round, the same for every round's survey.",
)
def randomize(
    data: Path,
    survey: Path,
    target: Path,
    *,
    max_epsilon: str | None,
    public: str,
    accept_disclosure: bool,
    accept_no_guarantee: bool,
    column: str | None,
    keep_order: bool,
    deals: bool,
) -> None:
    """Write one randomized report per person of DATA, a Parquet or CSV file.

    This stands in for many devices. Only declared columns are read. Every row counts as a person,
    unless the survey or --person names the column that tells persons apart. Reports are in random
    order, and only you can read the file.
    """
    from ldpsql.dealing import Deal  # noqa: PLC0415
    from ldpsql.survey import Survey, read_device_part, read_person  # noqa: PLC0415
    from ldpsql_device.errors import SurveyError  # noqa: PLC0415
    from ldpsql_device.files import randomize_file  # noqa: PLC0415
    from ldpsql_device.persons import PersonRule  # noqa: PLC0415
    from ldpsql_device.policy import Policy  # noqa: PLC0415

    options.keep_inputs(target, survey)
    published = read_device_part(survey)
    deal = Deal.of(Survey.from_json(survey)) if deals else None
    guarantee = published.guarantee
    if max_epsilon is None:  # an empty text is not a limit, and is refused
        max_epsilon = str(guarantee.epsilon or 0)
    person = read_person(survey)
    if column is not None:
        if person is not None and person.column != column:
            raise SurveyError(f"the survey tells persons apart by {person.column}, not {column}")
        person = person or PersonRule(column)
    policy = Policy(
        max_epsilon,
        max_delta=guarantee.delta if accept_disclosure else 0,
        disclosure=accept_disclosure,
        no_guarantee=accept_no_guarantee,
        public=[name.strip() for name in public.split(",")],
    )
    with Progress("randomizing", sys.stderr) as progress:
        tally = randomize_file(
            published,
            data,
            target,
            policy=policy,
            person=person,
            keep_order=keep_order,
            choose=None if deal is None else deal.choose,
            progress=progress.advance,
        )
    which = "" if deal is None else f", round {deal.round} of {deal.rounds}"
    click.echo(f"{target}: {pluralize(tally.people, 'report')}{which}", err=True)
    if keep_order:
        click.echo(
            "warning: the reports are in the order of the people: whoever knows that order knows "
            "whose report is whose",
            err=True,
        )
    show_notes(
        [
            *person_notes(data, person, published.schema, tally),
            *zone_notes(data, published.record_schema),
            *misfit_notes(published.schema, tally),
        ]
    )


@click.command(short_help="Mix many people's reports into one batch (shuffler side).")
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.published_survey
@options.output(options.REPORT_FILE, "Parquet file for the batch.", required=True)
def shuffle(reports: tuple[Path, ...], survey: Path, target: Path) -> None:
    """Put the reports of Parquet files and directories into one batch, in random order.

    This is for surveys with trust = "shuffle". Whoever runs it sees single reports and must not
    work with the collector. It refuses to make a batch that is smaller than the survey was designed
    for.
    """
    from ldpsql.intake import Intake  # noqa: PLC0415
    from ldpsql.shuffler import shuffle_reports  # noqa: PLC0415

    options.keep_inputs(target, survey)
    published = Intake.read(survey)
    with Progress("shuffling", sys.stderr) as progress:
        count = shuffle_reports(published, reports, target, progress=progress.advance)
    click.echo(f"{target}: {pluralize(count, 'report')}, shuffled", err=True)


@click.command(short_help="Store reports.")
@click.argument("paths", nargs=-1, required=True)
@options.collector_or_database
@click.option("--survey", type=options.EXISTING, help="Needed if the files do not carry it.")
@click.option("--skip-invalid", is_flag=True, help="Keep the good rows of a file with bad ones.")
@click.option(
    "--keep",
    type=click.Choice(["reports", "counts"]),
    default="reports",
    help="With counts, delete the reports once they are counted.",
)
@click.option(
    "--accept-smaller-batch",
    is_flag=True,
    help="Take a shuffled batch that is smaller than designed; every answer then states the "
    "weaker promise.",
)
@options.wait
def ingest(
    paths: tuple[str, ...],
    database: Path | str,
    survey: Path | None,
    patience: float,
    **settings: Any,
) -> None:
    """Add files of reports to the database; directories and globs are expanded.

    Every file is taken whole or not at all. Every report counts once, by its id: repeats are
    dropped, whatever file, order or encoding brings them, for as long as the survey lets devices
    send them again. A file whose content was taken before is skipped. A refused file ends the
    command; the files before it stay taken. A survey with trust = "shuffle" takes only batches that
    `ldpsql shuffle` wrote.
    """
    from ldpsql.intake import Intake, expand  # noqa: PLC0415
    from ldpsql.store import open_store  # noqa: PLC0415
    from ldpsql.store.incoming import SUFFIXES  # noqa: PLC0415

    def tell(batch: Batch) -> None:
        taken = pluralize(batch.reports, "report")
        if batch.known:
            taken = batch.withdrawn or "already there"
        repeats = f", {pluralize(batch.repeats, 'repeat')} dropped" if batch.repeats else ""
        skipped = f", {pluralize(batch.skipped, 'row')} skipped" if batch.skipped else ""
        click.echo(f"{batch.name}: {taken}{repeats}{skipped}", err=True)

    asked = None if survey is None else Intake.read(survey)
    files = expand(paths, SUFFIXES)  # before a database is made for none
    opened: Store | RemoteStore
    if options.is_collector(database):
        from ldpsql.remote import RemoteStore  # noqa: PLC0415  (it loads what answers)

        opened = RemoteStore(str(database), None)
    else:
        opened = open_store(database, read_only=False, patience=patience)
    with closing(opened) as store, Progress("ingesting", sys.stderr) as progress:
        store.ingest(files, survey=asked, tell=tell, progress=progress.advance, **settings)
