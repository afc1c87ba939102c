"""`randomize`: runs on the device and sees raw values."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ldpsql.errors import pluralize
from ldpsql.randomize.dealing import Deal
from ldpsql.randomize.files import randomize_file
from ldpsql.randomize.notes import misfit_notes, person_notes, zone_notes
from ldpsql.reports.persons import PersonRule
from ldpsql.survey import Survey, read_device_part, read_person
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_notes, show_text
from ldpsql.terminal.progress import Progress
from ldpsql_device.errors import SurveyError
from ldpsql_device.policy import Policy


@click.command()
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
    show_text(f"{target}: {pluralize(tally.people, 'report')}{which}", err=True)
    if keep_order:
        show_text(
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
