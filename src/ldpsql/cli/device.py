"""`answer`: the reports of a program that counts events; `sent`: what a person has given so far."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ldpsql.errors import pluralize
from ldpsql.survey import read_device_part
from ldpsql.terminal import options
from ldpsql.terminal.notes import show_text
from ldpsql_device.collector import Collector
from ldpsql_device.counters import Counters
from ldpsql_device.description import describe
from ldpsql_device.events import preview, report
from ldpsql_device.history import list_given
from ldpsql_device.ledger import Ledger
from ldpsql_device.policy import Policy


@click.command()
@click.argument("url")
@click.argument("table")
@click.option("--counters", type=options.EXISTING, required=True, help="The file of the events.")
@click.option("--ledger", type=click.Path(path_type=Path), help="The ledger, made if missing.")
@click.option("--max-epsilon", required=True, help="The largest epsilon of a single report.")
@click.option("--total", help="The ledger's budget: the largest epsilon of all reports together.")
@click.option("--public", default="", metavar="A,B", help="Columns that may travel in clear.")
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="KEY",
    help="Answer only surveys signed by this public key; repeat it for several.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Draw a report of the running period and print it. Nothing is sent or remembered.",
)
def answer(
    url: str,
    table: str,
    counters: Path,
    ledger: Path | None,
    max_epsilon: str,
    total: str | None,
    public: str,
    authors: tuple[str, ...],
    *,
    dry_run: bool,
) -> None:
    """Answer the survey TABLE of the collector at URL from a program's events (device side).

    Every period that has ended is answered once, and its report is sent until the collector has it.
    The network is not used until a period has ended. A timer can run this for a program.
    """
    counted = Counters(counters)
    names = [name for name in public.split(",") if name]
    policy = Policy(max_epsilon, tables={table}, public=names, authors=authors or None)
    if dry_run:
        survey, _ = Collector(url).fetch(table, policy=policy)
        drawn = preview(survey, counted, policy=policy)
        show_text(describe(survey), err=True)
        show_text("-- nothing was sent; the report to be sent will be drawn anew", err=True)
        show_text(drawn.to_json())
        return
    if ledger is None or total is None:
        raise click.UsageError("without --dry-run, --ledger and --total are needed")
    own = Ledger(ledger, total=total, per_attribute=total)
    delivery = report(counted, url, table, policy=policy, ledger=own)
    if delivery is None:
        show_text("nothing is due today", err=True)
    else:
        taken = pluralize(delivery.settled - delivery.refused, "report")
        waiting = f", {len(delivery.waiting)} to be sent later" if delivery.waiting else ""
        refused = f", {delivery.refused} refused" if delivery.refused else ""
        show_text(f"{taken} taken{refused}{waiting}", err=True)


@click.command()
@click.argument("ledger", type=options.EXISTING)
@click.argument("surveys", metavar="[SURVEY.json]...", nargs=-1, type=options.EXISTING)
@click.option("--counters", type=options.EXISTING, help="The file of the events, to name surveys.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for every report.")
def sent(ledger: Path, surveys: tuple[Path, ...], counters: Path | None, *, as_json: bool) -> None:
    """List every report that a person's ledger holds, byte for byte, and what it cost.

    A survey is described in plain words if its file is given, or the --counters that answered it.
    """
    words = {} if counters is None else Counters(counters).words()
    for survey in map(read_device_part, surveys):
        words[survey.fingerprint] = describe(survey)
    given = Ledger(ledger, total=0, per_attribute=0).history()
    if as_json:
        for each in given:
            show_text(json.dumps({**asdict(each), "words": words.get(each.survey)}, default=str))
        return
    show_text("\n".join(list_given(given, words)).rstrip() or "nothing was given")
