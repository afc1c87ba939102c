"""Opening report files in DuckDB.

A file becomes an `Incoming`: an SQL relation whose columns are those of the file, as they stand
there. Parquet and Arrow are read in place; CSV and JSON lines are text, staged once in a
temporary table. What DuckDB says of a bad file may quote it, so none of that is passed on.
"""

from __future__ import annotations

import csv
import glob
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from ldpsql.intake import Intake, damaged
from ldpsql.shuffle.batch import BATCH_KEY
from ldpsql.sql import literal, quote
from ldpsql.store.duckdb.opening import Connection
from ldpsql.store.rules import (
    SURVEY_COLUMN,
    Incoming,
    require_distinct,
    require_suffix,
)
from ldpsql_device.arrow import FINGERPRINT_KEY, ID_COLUMN
from ldpsql_device.errors import ReportError

_STAGED, _LINES = "ldpsql_incoming", "ldpsql_lines"
JSON = "JSON"
_MOST_COLUMNS = 1000
_MOST_CLAIMS = 100
_SHOWN = 5
_DIALECT = (
    "auto_detect=false, delim=',', quote='\"', escape='\"', header=true, ignore_errors=true, "
    "store_rejects=true, hive_partitioning=false"
)


def read(cursor: Connection, path: Path) -> Incoming:
    """Open a report file; ReportError if it is damaged."""
    suffix = require_suffix(path)
    reader = {".parquet": _parquet, ".csv": _csv}.get(suffix, _json_lines)
    try:
        return reader(cursor, path)
    except (duckdb.Error, UnicodeDecodeError, csv.Error):
        failure = damaged(str(path))
    # Outside the handler: what went wrong may quote the file and must not hang on to this error.
    raise failure


def read_table(cursor: Connection, table: pa.Table) -> Incoming:
    """Reports in memory."""
    require_distinct("the table", table.column_names)
    cursor.register(_STAGED, table)
    return _typed(cursor, "the table", _STAGED, table.schema.metadata or {})


def is_readable(incoming: Incoming) -> bool:
    """Whether a file read in place can be read to its end, judged without the store."""
    if incoming.relation == _STAGED:
        return True
    columns = ", ".join(map(quote, incoming.types))
    try:
        with duckdb.connect(":memory:") as probe:
            probe.execute(f"SELECT max(hash({columns})) FROM {incoming.relation}").fetchall()
    except duckdb.Error:
        return False
    return True


def _parquet(cursor: Connection, path: Path) -> Incoming:
    source = _literal(path)
    keys = ", ".join(f"{literal(key)}::BLOB" for key in (FINGERPRINT_KEY.decode(), BATCH_KEY))
    pairs = cursor.execute(
        f"SELECT key, value FROM parquet_kv_metadata({source}) WHERE key IN ({keys})"
    ).fetchall()
    relation = f"read_parquet({source}, hive_partitioning=false)"
    return _typed(cursor, str(path), relation, dict(pairs))


def _typed(
    cursor: Connection, name: str, relation: str, metadata: Mapping[bytes, bytes]
) -> Incoming:
    described = cursor.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    types = {row[0]: row[1] for row in described}
    said = {key: value.decode("utf-8", errors="replace") for key, value in metadata.items()}
    named = frozenset({said[key] for key in (FINGERPRINT_KEY,) if key in said})
    return Incoming(
        name,
        relation,
        types,
        _count(cursor, relation),
        batch=said.get(BATCH_KEY.encode()),
        claims=_claims(cursor, relation, types) | named,
    )


def _csv(cursor: Connection, path: Path) -> Incoming:
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file), [])
    if not header:
        raise ReportError(f"{path} is empty: its first line must name the columns")
    require_distinct(str(path), header)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
    cursor.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    _stage(cursor, f"SELECT * FROM read_csv({_literal(path)}, {_DIALECT}, columns={{{columns}}})")
    broken = cursor.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    return _staged(cursor, path, dict.fromkeys(header, "VARCHAR"), broken)


def _json_lines(cursor: Connection, path: Path) -> Incoming:
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {_LINES} AS SELECT json, json_keys(json) AS keys, "
        "coalesce(json_type(json), '') = 'OBJECT' AS whole, row_number() OVER () AS line "
        f"FROM read_ndjson_objects({_literal(path)}, ignore_errors=true, hive_partitioning=false)"
    )
    broken = cursor.execute(f"SELECT line FROM {_LINES} WHERE NOT whole ORDER BY line").fetchall()
    keys = cursor.execute(
        f"SELECT DISTINCT unnest(keys) AS key FROM (SELECT DISTINCT keys FROM {_LINES} "
        f"WHERE whole) ORDER BY key LIMIT {_MOST_COLUMNS}"
    ).fetchall()
    names = [row[0] for row in keys]
    require_distinct(str(path), names, are_keys=True)
    values = ", ".join(f"{_member(name)} AS {quote(name)}" for name in names)
    _stage(cursor, f"SELECT {values or 'NULL'} FROM {_LINES} WHERE whole")
    cursor.execute(f"DROP TABLE {_LINES}")
    types = {name: "VARCHAR" if name == SURVEY_COLUMN else JSON for name in names}
    return _staged(cursor, path, types, broken)


def unpack(cursor: Connection, intake: Intake, incoming: Incoming) -> Incoming:
    """Lines {"id": ..., "report": ..., "public": {...}} as columns; anything else as it is.

    The numbers of a report are cut from its hexadecimal digits; a report or an id of another form
    gives NULLs, which no row of reports may have.
    """
    if not incoming.are_keys or set(incoming.types) != {"id", "report", "public"}:
        return incoming
    names = [
        name
        for (name,) in cursor.execute(
            f"SELECT DISTINCT unnest(json_keys(public)) AS name FROM {_STAGED} ORDER BY name "
            f"LIMIT {_MOST_COLUMNS}"
        ).fetchall()
    ]
    require_distinct(incoming.name, [*intake.report_columns, *names], are_keys=True)
    digits = [width // 4 for width in intake.format.widths]
    values, start = [f"(id ->> '$') AS {quote(ID_COLUMN)}"], 1
    whole = (
        f"json_type(report) = 'VARCHAR' AND json_type(id) = 'VARCHAR' AND "
        f"json_type(public) = 'OBJECT' AND "
        f"regexp_full_match(report ->> '$', '[0-9a-f]{{{sum(digits)}}}') AND "
        "regexp_full_match(id ->> '$', '[0-9a-f]{32}')"
    )
    for name, count in zip(intake.report_columns, digits, strict=True):
        number = f"('0x' || substr(report ->> '$', {start}, {count}))::UBIGINT::VARCHAR"
        values.append(f"CASE WHEN {whole} THEN {number} END AS {quote(name)}")
        start += count
    absent = [column.name for column in intake.public if column.name not in names]
    values += [f"{_member(name, 'public')} AS {quote(name)}" for name in (*names, *absent)]
    cursor.execute(f"ALTER TABLE {_STAGED} RENAME TO {_LINES}")
    _stage(cursor, f"SELECT {', '.join(values)} FROM {_LINES}")
    cursor.execute(f"DROP TABLE {_LINES}")
    columns = {ID_COLUMN: "VARCHAR", **dict.fromkeys(intake.report_columns, "VARCHAR")}
    return replace(incoming, types=columns | dict.fromkeys((*names, *absent), JSON))


def _member(name: str, parent: str = "json") -> str:
    """A member of each object as JSON, so that 0 and "0" differ; NULL for null or no member."""
    place = literal("/" + name.replace("~", "~0").replace("/", "~1"))  # RFC 6901
    if name == SURVEY_COLUMN:
        return f"{parent} ->> {place}"
    return f"CASE WHEN json_type({parent}, {place}) <> 'NULL' THEN {parent} -> {place} END"


def _stage(cursor: Connection, query: str) -> None:
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {_STAGED} AS {query}")


def _staged(
    cursor: Connection, path: Path, types: Mapping[str, str], broken: Sequence[tuple[int]]
) -> Incoming:
    return Incoming(
        str(path),
        _STAGED,
        types,
        _count(cursor, _STAGED) + len(broken),
        is_text=True,
        are_keys=JSON in types.values(),
        claims=_claims(cursor, _STAGED, types),
        broken=len(broken),
        first_broken=tuple(line for (line,) in itertools.islice(broken, _SHOWN)),
    )


def _count(cursor: Connection, relation: str) -> int:
    row = cursor.execute(f"SELECT count(*) FROM {relation}").fetchone()
    return 0 if row is None else int(row[0])


def _claims(cursor: Connection, relation: str, names: Iterable[str]) -> frozenset[str]:
    """Which surveys the rows say they belong to."""
    if SURVEY_COLUMN not in names:
        return frozenset()
    rows = cursor.execute(
        f"SELECT DISTINCT {SURVEY_COLUMN}::VARCHAR FROM {relation} "
        f"WHERE {SURVEY_COLUMN} IS NOT NULL LIMIT {_MOST_CLAIMS}"
    ).fetchall()
    return frozenset(row[0] for row in rows)


def _literal(path: Path) -> str:
    """A path as an SQL string in which no character is a wildcard."""
    return literal(glob.escape(str(path.absolute())))
