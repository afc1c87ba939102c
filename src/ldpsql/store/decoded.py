"""Decoded reports as a DuckDB store keeps them.

    decoded         one row per survey that keeps any: the version of its decoder, and the last
                    batch whose reports are in
    parts_<survey>  groups of people who are alike in the first public columns
    sums_<survey>   the arrays of every part by name
    whole_<survey>  those of everybody
    derived_<survey>
                    those that follow from the design alone

Parts are combinations of values of the first public columns of the schema: of as many columns as
make at most MOST_PARTS parts, and MOST_NUMBERS numbers in all of them. What is asked about these
columns alone is answered from the parts, everything else from the histogram. Reports of later
batches are decoded when they are read; `catch_up` adds them to the sums, in one transaction with
the number of the last batch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import isnan
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ldpsql.estimators.base import Decoding
from ldpsql.reports.arrow_types import ARROW_TYPES
from ldpsql.reports.report import Decoded, Reals
from ldpsql.sql.quoting import literal, quote
from ldpsql.store import fold
from ldpsql.store.base import Selection
from ldpsql.store.counting import Counting, order_ascending
from ldpsql.store.layout import (
    ALONE,
    BATCH_COLUMN,
    COUNT_COLUMN,
    Column,
    Layout,
    create,
    names,
)
from ldpsql.store.opening import Connection, has_table
from ldpsql.store.reading import Reading
from ldpsql_device.errors import StoreError
from ldpsql_device.schema import RESERVED_PREFIX

MOST_PARTS, MOST_NUMBERS = 64, 1 << 22
_PART = Column(f"{RESERVED_PREFIX}part", "BIGINT")
_NAMED = (Column("name", "VARCHAR"), Column("sums", "BLOB"))
_SUMS = (_PART, *_NAMED)
EVERYBODY = -1
_SEAL, _ARRAYS = "seal", "ldpsql_arrays"
_LATER, _GROUP = "ldpsql_later", f"{RESERVED_PREFIX}group"
_DDL = "CREATE TABLE IF NOT EXISTS decoded (survey VARCHAR, version BIGINT, batch BIGINT)"
_ALONE_DDL = f"CREATE TABLE IF NOT EXISTS {ALONE} (survey VARCHAR, number BIGINT)"

Values = tuple[Any, ...]
Arrays = Mapping[str, Reals]


@dataclass(frozen=True)
class StoredSums:
    """The sums of one survey.

    columns: those that tell its parts apart.  batch: the last one whose reports are in.
    has_later: whether there may be later ones.
    """

    layout: Layout
    columns: tuple[Column, ...]
    batch: int
    has_later: bool = True

    @property
    def later(self) -> str:
        """A subquery: histogram rows of the reports of later batches."""
        return (
            f"(SELECT {self.layout.keys}, 1::BIGINT AS {COUNT_COLUMN} FROM {self.layout.reports} "
            f"WHERE {BATCH_COLUMN} > {self.batch})"
        )

    def number_parts(self, cursor: Connection) -> dict[Values, int]:
        """The number of every part by its values."""
        return {
            key_of(own): part
            for part, *own in cursor.execute(f"FROM {self.layout.parts}").fetchall()
        }

    def read(self, cursor: Connection, numbers: Sequence[int]) -> dict[int, dict[str, Reals]]:
        """The arrays of some parts; StoreError for what are none."""
        found: dict[int, dict[str, Reals]] = {number: {} for number in numbers}
        for table in {self._table(number) for number in numbers}:
            wanted = ", ".join(str(number) for number in numbers if self._table(number) == table)
            query = f"SELECT {names(_SUMS)} FROM {table} WHERE {_PART.sql} IN ({wanted})"
            for part, name, sums in cursor.execute(query).fetchall():
                try:
                    found[part][name] = np.frombuffer(sums, dtype="<f8")
                except (TypeError, ValueError):
                    raise self.damage() from None
        return found

    def require(self, parts: Iterable[Arrays], decoding: Decoding) -> None:
        """StoreError for a part that has other arrays than reports decode to."""
        entries = decoding.entries()
        if any(sum(own.size for own in part.values()) != entries for part in parts):
            raise self.damage()

    def damage(self) -> StoreError:
        """The error for sums that cannot be those of the survey."""
        return StoreError(
            f"what the store keeps of the decoded reports of {self.layout.intake.table} is "
            "damaged; decode them anew with refresh() of the store, or restore it from a copy"
        )

    def write(self, cursor: Connection, part: int, arrays: Arrays) -> None:
        """Put arrays in the place of those of a part."""
        table = self._table(part)
        cursor.execute(f"DELETE FROM {table} WHERE {_PART.sql} = {part}")
        _insert(cursor, table, f"{part}, *", arrays)

    def _table(self, part: int) -> str:
        return self.layout.sums if part >= 0 else self.layout.whole


def find(cursor: Connection, layout: Layout, decoding: Decoding) -> StoredSums | None:
    """The sums of a survey, if they are this decoder's, and if all reports of later batches are
    there to be decoded."""
    key = literal(layout.key)
    columns = cursor.execute(
        f"SELECT column_count - 1 FROM duckdb_tables() WHERE table_name = "
        f"{literal(f'parts_{layout.key}')}"
    ).fetchall()
    if not columns:
        return None
    rows = cursor.execute(
        f"SELECT batch, EXISTS (FROM batches b WHERE b.survey = {key} AND b.number > batch) "
        f"FROM decoded WHERE survey = {key} AND version = {decoding.version} AND NOT "
        f"EXISTS (FROM batches b WHERE b.survey = {key} AND b.number > batch AND NOT b.kept)"
    ).fetchall()
    if not rows:
        return None
    return StoredSums(layout, layout.public_columns[: columns[0][0]], *rows[0])


def find_last_batch(cursor: Connection, key: str) -> int:
    """The number of a survey's last batch, 0 where there is none."""
    query = "SELECT coalesce(max(number), 0) FROM batches WHERE survey = ?"
    [(last,)] = cursor.execute(query, [key]).fetchall()
    return int(last)


def list_alone(cursor: Connection, key: str) -> list[int]:
    """The batches of a survey of which the sums alone are there."""
    if not has_table(cursor, ALONE):
        return []
    rows = cursor.execute(f"SELECT number FROM {ALONE} WHERE survey = ? ORDER BY number", [key])
    return [number for (number,) in rows.fetchall()]


def leave_alone(cursor: Connection, key: str, numbers: Sequence[int]) -> None:
    """Write down that neither reports nor counts of batches are there any more."""
    cursor.execute(_ALONE_DDL)
    rows = [(key, number) for number in numbers]
    cursor.executemany(f"INSERT INTO {ALONE} VALUES (?, ?)", rows)
    listed = ", ".join(map(str, numbers))
    cursor.execute(
        f"UPDATE batches SET kept = false WHERE survey = {literal(key)} AND number IN ({listed})"
    )


def forget(cursor: Connection, layout: Layout) -> None:
    """Have all reports decoded anew."""
    cursor.execute(_DDL)
    cursor.execute(f"DELETE FROM decoded WHERE survey = {literal(layout.key)}")


def drop(cursor: Connection, layout: Layout) -> None:
    """Delete what is kept of decoded reports."""
    forget(cursor, layout)
    for table in (layout.parts, layout.sums, layout.whole, layout.derived):
        cursor.execute(f"DROP TABLE IF EXISTS {table}")


def count_waiting(cursor: Connection, layout: Layout, decoding: Decoding) -> int:
    """How many reports are not in the sums."""
    place = find(cursor, layout, decoding)
    return fold.sum_reports(cursor, layout, f"number > {0 if place is None else place.batch}")


class DecodedRows(Protocol):
    """Histogram rows that decode to sums by parts, wherever they are."""

    def combinations(self, columns: tuple[Column, ...], most: int) -> str:
        """A subquery of the combinations of values of some public columns, of all of them or, where
        there are more than that, of more than `most`."""

    def split(self, columns: tuple[Column, ...]) -> Sequence[tuple[Values, Arrays]]:
        """The decoded rows of every combination of values; a combination may come in several
        pieces."""


@dataclass(frozen=True)
class LocalRows:
    """Histogram rows that a cursor sees, as a subquery."""

    cursor: Connection
    layout: Layout
    decoding: Decoding
    rows: str

    def combinations(self, columns: tuple[Column, ...], most: int) -> str:
        """As `DecodedRows` says, of rows in DuckDB."""
        return f"SELECT {names(columns)} FROM {self.rows}"

    def split(self, columns: tuple[Column, ...]) -> list[tuple[Values, Arrays]]:
        """As `DecodedRows` says, of rows in DuckDB."""
        selection = Selection(keys=tuple(column.name for column in columns))
        every = Reading(self.cursor, self.layout, selection, self.rows).histograms()
        found = [(values, own) for values, own in every if own.people]
        arrays = self.decoding.decode([own for _, own in found])
        return [(values, each) for (values, _), each in zip(found, arrays, strict=True)]


def catch_up(
    cursor: Connection, layout: Layout, decoding: Decoding, more: str | None = None
) -> None:
    """Add the reports of later batches to the sums.

    more: a subquery of the reports of one batch more, which the tables do not hold yet. Where there
    are no sums of this decoder, all reports are decoded.
    """
    place = find(cursor, layout, decoding)
    if place is None:
        if list_alone(cursor, layout.key):  # the counts lack reports; sums of them would, too
            return
        place = begin(cursor, layout, decoding)
        rows = fold.counts(layout, fold.FoldProgress.of(cursor, layout).counted)
    else:
        rows = place.later
    if more is not None:
        rows = f"(FROM {rows} UNION ALL SELECT {layout.keys}, 1::BIGINT FROM ({more}))"
    last = find_last_batch(cursor, layout.key) + int(more is not None)
    add(cursor, place, decoding, LocalRows(cursor, layout, decoding, rows), last)


def begin(cursor: Connection, layout: Layout, decoding: Decoding) -> StoredSums:
    """Make the sums of nobody, in the place of any there are."""
    place = StoredSums(layout, layout.public_columns, 0)
    cursor.execute(create(layout.sums, _SUMS))
    cursor.execute(create(layout.whole, _SUMS))
    cursor.execute(create(layout.parts, (_PART, *place.columns)))
    cursor.execute(create(layout.derived, _NAMED))
    derived = dict(decoding.derive())
    derived[_SEAL] = _seal(layout.intake.fingerprint, decoding.version, derived)
    _insert(cursor, layout.derived, "*", derived)
    return place


def _insert(cursor: Connection, table: str, columns: str, arrays: Arrays) -> None:
    """Put arrays into a table.  columns: what it holds, where * stands for name and array."""
    blobs = [own.astype("<f8").tobytes() for own in arrays.values()]
    rows = pa.table([pa.array(arrays, pa.string()), pa.array(blobs, pa.binary())], ["name", "sums"])
    cursor.register(_ARRAYS, rows)
    cursor.execute(f"INSERT INTO {table} SELECT {columns} FROM {_ARRAYS}")
    cursor.unregister(_ARRAYS)


def add(
    cursor: Connection, place: StoredSums, decoding: Decoding, rows: DecodedRows, last: int
) -> None:
    """Add rows to sums.  last: the number of the last batch whose reports are in by that."""
    layout = place.layout
    place = _narrow(cursor, place, rows, min(MOST_PARTS, MOST_NUMBERS // decoding.numbers))
    known, new = place.number_parts(cursor), rows.split(place.columns)
    stored = place.read(cursor, (EVERYBODY, *known.values()))
    changed = {}
    for values, arrays in new:
        part = known.setdefault(key_of(values), len(known)) if place.columns else EVERYBODY
        if part not in stored:
            marks = ", ".join("?" for _ in values)
            cursor.execute(f"INSERT INTO {layout.parts} VALUES ({part}, {marks})", values)
        for number in {part, EVERYBODY}:
            stored[number] = changed[number] = add_arrays(stored.get(number, {}), arrays)
    for part, arrays in changed.items():
        place.write(cursor, part, arrays)
    forget(cursor, layout)
    cursor.execute(
        f"INSERT INTO decoded VALUES ({literal(layout.key)}, {decoding.version}, {last})"
    )


def _narrow(cursor: Connection, place: StoredSums, rows: DecodedRows, most: int) -> StoredSums:
    """The same sums by fewer columns, until there are few enough parts with those of new rows."""
    columns = place.columns
    while columns:
        listed = names(columns)
        [(parts,)] = cursor.execute(
            f"SELECT count(*) FROM ({rows.combinations(columns, most)} UNION SELECT {listed} "
            f"FROM {place.layout.parts})"
        ).fetchall()
        if parts <= most:
            break
        columns = columns[:-1]
    if columns == place.columns:
        return place
    narrow, joined = StoredSums(place.layout, columns, place.batch), dict[Values, list[int]]()
    for part, *own in cursor.execute(f"FROM {place.layout.parts} ORDER BY {_PART.sql}").fetchall():
        joined.setdefault(tuple(own[: len(columns)]), []).append(part)
    stored = place.read(cursor, [part for parts in joined.values() for part in parts])
    cursor.execute(f"DELETE FROM {place.layout.sums}")
    cursor.execute(create(narrow.layout.parts, (_PART, *columns)))
    for number, (values, parts) in enumerate(joined.items() if columns else ()):
        arrays: Arrays = {}
        for part in parts:
            arrays = add_arrays(arrays, stored[part])
        narrow.write(cursor, number, arrays)
        marks = ", ".join("?" for _ in values)
        cursor.execute(f"INSERT INTO {narrow.layout.parts} VALUES ({number}, {marks})", values)
    return narrow


def recall(cursor: Connection, key: str, fingerprint: str, version: int) -> Arrays | None:
    """The arrays that follow from the design of a survey alone; None where nothing is kept, or not
    what this version of its decoder derived of this survey."""
    table = f"derived_{key}"
    if not has_table(cursor, table):
        return None
    found = cursor.execute(f"SELECT {names(_NAMED)} FROM {quote(table)}").fetchall()
    if not all(name and sums is not None and len(sums) % 8 == 0 for name, sums in found):
        return None
    derived = {name: np.frombuffer(sums, dtype="<f8") for name, sums in found}
    seal = derived.pop(_SEAL, np.zeros(0))
    return derived if np.array_equal(seal, _seal(fingerprint, version, derived)) else None


def _seal(fingerprint: str, version: int, derived: Arrays) -> Reals:
    """A digest of what was derived of a survey, as an array among the others: whatever does not
    bear it is damaged, or another survey's, or another version's."""
    digest = hashlib.sha256(f"{fingerprint} {version}".encode())
    for name in sorted(derived):
        digest.update(f"{name} {derived[name].size} ".encode())
        digest.update(np.ascontiguousarray(derived[name], dtype="<f8").data)
    # Whole numbers of 32 bits, for four floats of any bits may be no numbers.
    return np.frombuffer(digest.digest(), dtype="<u4").astype(np.float64)


def read(
    cursor: Connection, place: StoredSums, decoding: Decoding, selection: Selection
) -> list[tuple[Values, Decoded]] | None:
    """Per combination of key values, ascending, NULL last, the sums of its people; without keys
    exactly one. None where the parts do not say who is selected."""
    if not _are_told(place, selection):
        return None
    later = (
        LocalRows(cursor, place.layout, decoding, place.later).split(place.columns)
        if place.has_later
        else []
    )
    if not (selection.condition or selection.keys or selection.moments):
        stored = place.read(cursor, [EVERYBODY])[EVERYBODY]
        place.require([stored] if stored else [], decoding)  # nobody has none
        return [((), _stack([stored, *(arrays for _, arrays in later)], {}))]
    return _select(cursor, place, decoding, later, selection)


def _are_told(place: StoredSums, selection: Selection) -> bool:
    """Whether a selection names no public column but those that tell the parts apart."""
    keys = [key if isinstance(key, str) else key.text for key in selection.keys]
    weights = [weight.column for pair in selection.moments for weight in pair if weight]
    text = "\n".join([selection.condition or "", *keys, *weights])
    others = place.layout.public_columns[len(place.columns) :]
    return not any(
        re.search(rf"(?<!\w){re.escape(column.sql[1:-1])}(?!\w)", text, re.IGNORECASE)
        for column in others
    )


def _select(
    cursor: Connection,
    place: StoredSums,
    decoding: Decoding,
    later: Sequence[tuple[Values, Arrays]],
    selection: Selection,
) -> list[tuple[Values, Decoded]]:
    """The parts of the people who are selected, by key values; those of later reports are parts of
    their own."""
    numbers = [EVERYBODY - 1 - number for number in range(len(later))]
    cursor.register(_LATER, _list_parts(place, numbers, [values for values, _ in later]))
    counting = Counting(place.layout, selection)
    weights = list(dict.fromkeys(w for pair in counting.moments for w in pair if w is not None))
    chosen = ", ".join([_PART.sql, *counting.keys, *map(counting.weight, weights)])
    order = order_ascending(counting.key_names)
    rank = f"dense_rank() OVER (ORDER BY {order})" if order else "1"
    rows = cursor.execute(
        f"SELECT {rank} AS {_GROUP}, * FROM (SELECT {chosen} FROM (FROM {place.layout.parts} "
        f"UNION ALL FROM {_LATER}) WHERE {counting.condition}) ORDER BY {_GROUP}, {_PART.sql}"
    ).fetchall()
    cursor.unregister(_LATER)
    found = place.read(cursor, [row[1] for row in rows if row[1] >= 0])
    place.require(found.values(), decoding)
    found |= {number: dict(own) for number, (_, own) in zip(numbers, later, strict=True)}
    groups = []
    for _, members in groupby(rows, key=lambda row: row[0]):
        own = list(members)
        first = 2 + len(selection.keys)
        values = {
            weight: np.array([row[first + place] for row in own], dtype=np.float64)
            for place, weight in enumerate(weights)
        }
        groups.append((tuple(own[0][2:first]), _stack([found[row[1]] for row in own], values)))
    if not selection.keys and not groups:
        return [((), _stack([], dict.fromkeys(weights, np.zeros(0))))]
    return [(key, replace(decoded, siblings=len(groups))) for key, decoded in groups]


def _list_parts(place: StoredSums, numbers: Sequence[int], values: Sequence[Values]) -> pa.Table:
    """Parts as rows of the table of parts."""
    public = place.layout.intake.public[: len(place.columns)]
    arrays = [pa.array(numbers, pa.int64())]
    for column, kind in enumerate(public):
        arrays.append(pa.array([own[column] for own in values], ARROW_TYPES[kind.type]))
    return pa.table(arrays, names=[column.name for column in (_PART, *place.columns)])


def _stack(parts: Sequence[Arrays], values: Mapping[Any, Reals]) -> Decoded:
    every = dict.fromkeys(name for part in parts for name in part)
    return Decoded(
        {name: np.stack([part[name] for part in parts if part]) for name in every}, values
    )


def add_arrays(left: Arrays, right: Arrays) -> dict[str, Reals]:
    """Arrays added up by name; one that only one of the two has counts as it is."""
    sums = {name: left[name] + own if name in left else own for name, own in right.items()}
    return {**left, **sums}


def key_of(values: Sequence[Any]) -> Values:
    """Values that equal those of the same part; NaN does not equal itself."""
    return tuple("nan" if isinstance(own, float) and isnan(own) else own for own in values)
