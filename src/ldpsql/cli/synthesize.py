"""Runs at the collector. Sees reports. A table of made-up people, as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpsql.cli import options

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 10**10


class TableFile(click.Path):
    """A file to write a table into; its suffix says how."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, if it ends in .parquet or .csv."""
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() not in _WRITERS:
            self.fail(f"a table is one of {', '.join(_WRITERS)}, not {path.name!r}", param, ctx)
        return path


def _write_parquet(path: Path, columns: pa.Schema, batches: Iterable[pa.Table]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415  (what is heavy is loaded when needed)

    with pq.ParquetWriter(path, columns) as writer:
        for batch in batches:
            writer.write_table(batch.cast(columns))


def _write_csv(path: Path, columns: pa.Schema, batches: Iterable[pa.Table]) -> None:
    import pyarrow.csv as pc  # noqa: PLC0415

    with pc.CSVWriter(path, columns) as writer:
        for batch in batches:
            writer.write_table(batch.cast(columns))


_WRITERS: Mapping[str, Callable[[Path, pa.Schema, Iterable[pa.Table]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
}


@click.command(short_help="Draw a table of made-up people.")
@options.database
@click.option("--table", "table", metavar="NAME", help="Which survey.  [default: the only one]")
@click.option(
    "-n",
    "--rows",
    type=click.IntRange(1, _MOST_ROWS),
    help="How many people.  [default: as many as reports]",
)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    type=TableFile(),
    help="Parquet or CSV file for the table, by its suffix.",
)
@click.option("--seed", type=click.IntRange(0), help="The same seed draws the same table.")
def synthesize(
    database: Path, table: str | None, rows: int | None, target: Path, seed: int | None
) -> None:
    """Draw a table of made-up people that agrees with what the reports tell.

    Its columns are those of the survey, its rows belong to nobody: run any SQL on it, or train a
    model. Notes say which tables of columns it keeps, how well, and what it does not keep. It is
    made from the reports alone and costs nobody any privacy.
    """
    options.keep_inputs(target, database)
    options.check_writable(target)

    from ldpsql.store import open_store  # noqa: PLC0415
    from ldpsql.synthesis import Synthesizer  # noqa: PLC0415
    from ldpsql_device.atomic import replace_file  # noqa: PLC0415  (what is heavy comes late)

    with closing(open_store(database, read_only=True)) as store:
        synthesizer = Synthesizer.of(store, table)
    with replace_file(target) as temporary:
        write = _WRITERS[target.suffix.lower()]
        write(temporary, synthesizer.columns, synthesizer.batches(rows, seed))
    for note in synthesizer.notes:
        click.echo(f"note: {note}", err=True)
