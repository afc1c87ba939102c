"""`demo`: a whole survey of made-up people, from its design to answers over HTTP."""

from __future__ import annotations

import signal
import sys

import click

from ldpsql.cli.progress import Progress


@click.command(short_help="Run a whole survey of made-up people.")
@click.option("--people", type=click.IntRange(100, 1_000_000), default=10_000, help="How many.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    help="The collector's; if it is taken, another one.",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Show the running example of H4MDA instead: its queries, trees and probabilities, and "
    "what each mechanism answers.",
)
def demo(people: int, port: int, *, paper: bool) -> None:
    """Make people up, design a survey for them, start `ldpsql serve`, have a device of everybody
    answer over HTTP, and ask questions, with the truth beside the answers.

    On a terminal the collector and its page stay until Ctrl-C; elsewhere it ends by itself. What it
    writes, in a temporary folder, is deleted. With --paper all of it happens in this process.
    """
    if paper:
        from ldpsql.demo.paper import run as run_paper  # noqa: PLC0415

        run_paper(click.echo, people=people)
        return

    from ldpsql.demo.run import run  # noqa: PLC0415

    if hasattr(signal, "SIGHUP"):  # the terminal was closed
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    stays = sys.stdin.isatty() and sys.stdout.isatty()

    def progress(work: str) -> Progress:
        return Progress(work, sys.stderr)

    run(click.echo, people=people, port=port, stays=stays, progress=progress)
