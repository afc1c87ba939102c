"""A process that takes reports into a store, and decodes every batch, until it is killed.

Arguments: the store, the survey, and a file of reports without ids that it takes again and again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

from ldpsql.randomize.table import append_ids
from ldpsql.store import open_store
from ldpsql.survey import Survey


def main(path: str, survey: str, reports: str) -> None:
    """Say when there is something to kill, then go on."""
    asked, table = Survey.from_json(Path(survey)), pq.read_table(reports)
    with open_store(path, read_only=False) as store:
        while True:
            store.ingest_table(append_ids(table), asked)
            store.catch_up()
            sys.stdout.write("batch\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
