"""The doors there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.bodies import Bodies
from fuzz.harness import Door
from fuzz.parquet import ParquetMetadata
from fuzz.reports import ReportFiles
from fuzz.sql import Statements
from fuzz.surveys import Surveys

DOORS: Mapping[str, Callable[[], Door]] = {
    each.name: each for each in (Statements, ReportFiles, ParquetMetadata, Bodies, Surveys)
}
