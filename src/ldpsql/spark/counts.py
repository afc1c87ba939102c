"""Counts of reports in Spark: those of a selection, and what they decode to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsql.reports.report import Decoded
from ldpsql.spark.columns import in_spark, quote_in_spark, sums_schema
from ldpsql.spark.dialects import find_columns, split_condition, translate
from ldpsql.spark.executor import CountDecoder, Sums, add_up
from ldpsql.store import decoded
from ldpsql.store.base import Selection
from ldpsql.store.counting import Counting, moment
from ldpsql.store.layout import COUNT_COLUMN, Column, Layout, names
from ldpsql.store.opening import Connection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COMBINATIONS = "ldpsql_combinations"


@contextmanager
def name_frames(session: SparkSession, **frames: DataFrame) -> Iterator[Mapping[str, str]]:
    """Names by which statements find data frames as tables, for as long as they are worked on."""
    given = {name: f"ldpsql_{name}_{token_hex(8)}" for name in frames}
    try:
        for name, frame in frames.items():
            frame.createTempView(given[name])
        yield given
    finally:
        for view in given.values():
            session.catalog.dropTempView(view)


def select(session: SparkSession, query: str) -> DataFrame:
    """The rows of a query in DuckDB's dialect."""
    return session.sql(translate(query, "spark"))


# -- counts of a selection ---------------------------------------------------------------------


@contextmanager
def count_selection(
    session: SparkSession,
    table: Layout,
    counts: DataFrame,
    selection: Selection,
    counted: Sequence[Column],
) -> Iterator[tuple[DataFrame, Selection]]:
    """Histogram rows of a selection, with a column for every moment, and what is left to select of
    them in DuckDB.

    Spark keeps what fits the part of the condition that every dialect means the same by, and adds
    up over all columns that nothing asks for.  counted: those of a report that something does.
    """
    plain, rest = _narrow(table, selection)
    counting = Counting(table, selection)
    asked = set[str]()
    for key in rest.keys:
        asked |= {name.lower() for name in ((key,) if isinstance(key, str) else key.columns)}
    if rest.condition is not None:
        asked |= find_columns(rest.condition)
    public = [column for column in table.public_columns if column.name.lower() in asked]
    groups = names((*counted, *public))
    sums = "".join(
        f", CAST(sum({COUNT_COLUMN} * {each}) AS DOUBLE) AS {moment(place)}"
        for place, each in enumerate(counting.products())
    )
    with name_frames(session, counts=counts) as views:
        query = (
            f"SELECT {groups}, CAST(sum({COUNT_COLUMN}) AS BIGINT) AS {COUNT_COLUMN}{sums} "
            f"FROM {views['counts']} WHERE {plain} GROUP BY {groups}"
        )
        yield select(session, query), rest


def _narrow(table: Layout, selection: Selection) -> tuple[str, Selection]:
    """The part of a selection that Spark can make, and the rest for DuckDB."""
    types = {column.name.lower(): column.type for column in table.intake.public}
    plain, is_all = split_condition(selection.condition, types)
    return plain, replace(selection, condition=None) if is_all else selection


# -- what counts decode to -----------------------------------------------------------------------


def decode_counts(table: Layout, counts: DataFrame, selection: Selection) -> DataFrame:
    """The counts of a selection, decoded on the executors: arrays by key and name, several
    rows for one of them, which add up. The survey must have both parts."""
    plain, rest = _narrow(table, selection)
    chosen = counts.where(translate(plain, "spark"))
    schema = in_spark(sums_schema(table, selection))
    return chosen.mapInArrow(
        CountDecoder(table.intake.text, table.intake.fingerprint, rest).decode, schema
    )


def gather(decoded_counts: DataFrame) -> Sums:
    """The same added up, by key."""
    found, sums = decoded_counts.toArrow(), Sums()
    for *key, name, own in zip(*(column.to_pylist() for column in found.columns), strict=True):
        add_up(sums, decoded.key_of(key), {name: np.frombuffer(own, dtype="<f8")})
    return sums


def as_decoded(sums: Sums, selection: Selection) -> list[tuple[tuple[Any, ...], Decoded]]:
    """Sums by key, ascending, NULL last; without keys exactly one."""
    if not selection.keys:
        sums = {(): sums.get((), {})}
    ordered = sorted(sums, key=lambda key: [(own is None, own or 0) for own in key])
    return [
        (
            key,
            Decoded({name: own[np.newaxis] for name, own in sums[key].items()}, siblings=len(sums)),
        )
        for key in ordered
    ]


@dataclass(frozen=True)
class SparkRows:
    """Histogram rows in Spark that decode to sums by parts; see `decoded.DecodedRows`."""

    cursor: Connection
    table: Layout
    counts: DataFrame

    def combinations(self, columns: tuple[Column, ...], most: int) -> str:
        """As `decoded.DecodedRows` says, of rows on the executors."""
        own = self.counts.select(*(quote_in_spark(column.name) for column in columns))
        self.cursor.register(_COMBINATIONS, own.distinct().limit(most + 1).toArrow())
        return f"SELECT {names(columns)} FROM {_COMBINATIONS}"

    def split(self, columns: tuple[Column, ...]) -> list[tuple[decoded.Values, decoded.Arrays]]:
        """As `decoded.DecodedRows` says, of rows on the executors."""
        selection = Selection(keys=tuple(column.name for column in columns))
        found = decode_counts(self.table, self.counts, selection)
        return list(gather(found).items())
