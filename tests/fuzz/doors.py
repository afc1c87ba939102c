"""The doors there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.bodies import Bodies
from fuzz.harness import Door
from fuzz.ledgers import Ledgers
from fuzz.parameters import Calls
from fuzz.parquet import ParquetMetadata
from fuzz.records import Records
from fuzz.reports import ReportFiles
from fuzz.requests import Requests
from fuzz.sql import Statements
from fuzz.surveys import Surveys
from fuzz.tables import Exports, Tables

DOORS: Mapping[str, Callable[[], Door]] = {
    each.name: each
    for each in (
        *(Statements, Calls, ReportFiles, ParquetMetadata, Bodies, Requests, Surveys),
        *(Records, Ledgers, Tables, Exports),
    )
}
