"""`report`: the usual charts of a survey that is answered once in each period."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ldpsql.dbapi.asking import make_session, open_to_ask
from ldpsql.errors import pluralize
from ldpsql.reports.atomic import replace_file
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.progress import Progress
from ldpsql.workbench.timelines.choice import chart_survey
from ldpsql.workbench.timelines.page import write_timelines
from ldpsql_device.survey import utc_today


@click.command()
@click.argument("table")
@click.option(
    "--output",
    "-o",
    "target",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="The page to write.",
)
@click.option(
    "--periods",
    type=click.IntRange(1, 400),
    default=26,
    show_default=True,
    help="How many of the latest periods to show at most.",
)
@click.option(
    "--min-people",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Leave out periods of fewer people, and join public values of fewer people in a period.",
)
@options.settings
def report(
    table: str,
    target: Path,
    periods: int,
    min_people: int,
    *,
    database: Path | str,
    weights: tuple[Path, ...],
    **settings: Any,
) -> None:
    """Draw the survey TABLE over its periods, as one HTML page to publish.

    The page has shares of listed values, quantiles of numbers, averages of measures and counts of
    public values, each with its intervals, and compares the last period with the one before. The
    period that is running is left out.
    """
    options.keep_inputs(target, database, *weights)
    options.check_writable(target)
    today = utc_today()
    with Progress("charting", sys.stderr) as progress:
        progress.show(f"opening {database}")
        with closing(open_to_ask(database)) as store:
            session = make_session(store, weights, **settings)
            progress.show("answering")
            survey = session.survey(table)
            charts = chart_survey(session, survey, today, most=periods, min_people=min_people)
            respondents = charts
            is_about_others = weights or settings["one_population"] or settings["census"]
            if not is_about_others and survey.schedule.sample is None:
                session = make_session(store, (), **{**settings, "census": True})
                respondents = chart_survey(session, survey, today, most=2, min_people=min_people)
        progress.show("drawing")
        page = write_timelines(charts, respondents, today, min_people)
        with replace_file(target) as temporary:
            temporary.write_text(page, encoding="utf-8")
    shown = (
        f"{pluralize(len(charts.timelines), 'chart')} of {pluralize(len(charts.periods), 'period')}"
    )
    show_text(f"{target}: {shown}", err=True)
