"""`demo`: a whole survey of made-up people, from its design to answers over HTTP."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import click

from ldpsql import extensions
from ldpsql.randomize.people import make_people
from ldpsql.terminal import options
from ldpsql.terminal.formats import Document, write_document
from ldpsql.terminal.notes import show_text
from ldpsql.terminal.progress import Progress

PEOPLE, FEW_PEOPLE = 10_000, 1_000
GROUP = "ldpsql.demos"
"""The group of entry points of what runs: `shop`, `shuffled` or `paper`. Writing the people needs
none of them."""


@click.command()
@click.option(
    "--people",
    type=options.people(100, 1_000_000),
    metavar="N",
    help="How many people, such as 20000 or 20k.  [default: 10000; 1000 with --shuffle]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    help="The collector's port; if it is taken, another one.",
)
@click.option(
    "--shuffle",
    is_flag=True,
    help="Let a shuffler mix the reports. Devices trust it by its key, and nobody else can read "
    "what they send. Each answer is shown beside that of the same people without a shuffler.",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Show the running example of H4MDA instead: its queries, trees and probabilities, and "
    "what each mechanism answers.",
)
@click.option(
    "--table",
    "target",
    type=options.TABLE_FILE,
    metavar="FILE",
    help="Write the 45,222 made-up people of the documentation to this file (.parquet, .csv), and "
    "do nothing else.",
)
def demo(people: int | None, port: int, *, shuffle: bool, paper: bool, target: Path | None) -> None:
    """Make up people, design a survey for them, start `ldpsql serve`, have everybody's device
    answer over HTTP, and ask questions, with the truth beside the answers.

    On a terminal the collector and its page stay until Ctrl-C; elsewhere the demo ends by itself.
    It writes to a temporary folder, which it deletes. With --paper everything happens in this
    process.
    """
    if target is not None:
        made = make_people()
        write_document(Document(schema=made.schema, batches=[made]), None, target)
        show_text(f"{target}: {made.num_rows} made-up people", err=True)
        return
    if paper:
        extensions.require(GROUP, "paper", "the whole demo")(show_text, people=people or PEOPLE)
        return

    run = extensions.require(GROUP, "shuffled" if shuffle else "shop", "the whole demo")
    if hasattr(signal, "SIGHUP"):  # the terminal was closed
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    stays = sys.stdin.isatty() and sys.stdout.isatty()

    def progress(work: str) -> Progress:
        return Progress(work, sys.stderr)

    crowd = people or (FEW_PEOPLE if shuffle else PEOPLE)
    run(show_text, people=crowd, port=port, stays=stays, progress=progress)
