"""Sees raw values and reports, which it generates itself. The demonstration."""

from __future__ import annotations

import click


@click.command(short_help="Run a whole survey on generated people.")
def demo() -> None:
    """Generate a shopping table, run a survey on it, ask four questions, compare with the truth."""
    from ldpsql.demo import run  # noqa: PLC0415

    run(click.echo)
