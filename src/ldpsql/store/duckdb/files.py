"""Runs at the collector. Sees reports. Report files: which there are, and how to read them.

A file becomes an `Incoming`: an SQL relation whose columns are those of the file, as they stand
there. Parquet and Arrow are read in place; CSV and JSON lines are text, staged once in a
temporary table. What DuckDB says of a bad file may quote it, so none of that is passed on.
"""

from __future__ import annotations

import csv
import glob
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from ldpsql.batch import BATCH_KEY
from ldpsql.store.duckdb.layout import METADATA_KEY, SURVEY_COLUMN, quoted, text
from ldpsql.store.duckdb.opening import Connection
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


@dataclass(frozen=True)
class Incoming:
    """Reports on their way in.

    name: for messages.  relation: something to select from.  types: DuckDB type per column.
    is_text: whether the values are text still, or JSON (type `JSON`).  embedded: the JSON of the
    survey that the file carries, or None.  shuffled: what the file says of its shuffling, or None.
    claims: fingerprints of surveys that its rows carry.
    broken: how many lines are no rows at all; first_broken: the numbers of the first few.
    """

    name: str
    relation: str
    types: Mapping[str, str]
    is_text: bool = False
    embedded: str | None = None
    shuffled: str | None = None
    claims: frozenset[str] = frozenset()
    broken: int = 0
    first_broken: tuple[int, ...] = ()


def expand(paths: Sequence[str | Path]) -> list[Path]:
    """Files behind files, directories and globs, in order; directories are searched in depth.

    Raises ReportError for a name behind which there is no report file.
    """
    return [path for given in paths for path in _expand(given)]


def _expand(given: str | Path) -> list[Path]:
    path = Path(given)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.suffix.lower() in _READERS and p.is_file())
        if not found:
            raise ReportError(f"there is no report file in {path} ({', '.join(_READERS)})")
        return found
    if not glob.has_magic(str(given)):
        raise ReportError(f"there is no file {path}")
    matches = sorted(glob.glob(str(given), recursive=True))  # noqa: PTH207
    if not matches:
        raise ReportError(f"no file matches {given}")
    return [path for match in matches for path in _expand(match)]


def digest(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal; ReportError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None


def read(cursor: Connection, path: Path) -> Incoming:
    """Open a report file; ReportError if it is damaged."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ReportError(f"{path} is no report file: its name must end in {', '.join(_READERS)}")
    try:
        return reader(cursor, path)
    except (duckdb.Error, UnicodeDecodeError, csv.Error):
        failure = damaged(str(path))
    # Outside the handler: what went wrong may quote the file and must not hang on to this error.
    raise failure


def damaged(name: str) -> ReportError:
    """What to say of a file that cannot be read to its end."""
    return ReportError(f"{name} cannot be read: it is damaged or cut short; copy it again")


def read_table(cursor: Connection, table: pa.Table) -> Incoming:
    """Reports in memory."""
    _require_distinct_columns("the table", table.column_names)
    cursor.register(_STAGED, table)
    return _typed(cursor, "the table", _STAGED, table.schema.metadata or {})


def is_readable(incoming: Incoming) -> bool:
    """Whether a file read in place can be read to its end, judged without the store."""
    if incoming.relation == _STAGED:
        return True
    columns = ", ".join(map(quoted, incoming.types))
    try:
        with duckdb.connect(":memory:") as probe:
            probe.execute(f"SELECT max(hash({columns})) FROM {incoming.relation}").fetchall()
    except duckdb.Error:
        return False
    return True


def _parquet(cursor: Connection, path: Path) -> Incoming:
    source = _literal(path)
    keys = ", ".join(f"{text(key)}::BLOB" for key in (METADATA_KEY, BATCH_KEY))
    found = cursor.execute(
        f"SELECT key, value FROM parquet_kv_metadata({source}) WHERE key IN ({keys})"
    ).fetchall()
    relation = f"read_parquet({source}, hive_partitioning=false)"
    return _typed(cursor, str(path), relation, dict(found))


def _typed(
    cursor: Connection, name: str, relation: str, metadata: Mapping[bytes, bytes]
) -> Incoming:
    rows = cursor.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    types = {row[0]: row[1] for row in rows}
    said = {key: value.decode("utf-8", errors="replace") for key, value in metadata.items()}
    return Incoming(
        name,
        relation,
        types,
        embedded=said.get(METADATA_KEY.encode()),
        shuffled=said.get(BATCH_KEY.encode()),
        claims=_claims(cursor, relation, types),
    )


def _csv(cursor: Connection, path: Path) -> Incoming:
    header = _header(path)
    _require_distinct_columns(str(path), header)
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
    cursor.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    _stage(cursor, f"SELECT * FROM read_csv({_literal(path)}, {_DIALECT}, columns={{{columns}}})")
    broken = cursor.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    return _textual(cursor, path, dict.fromkeys(header, "VARCHAR"), [row[0] for row in broken])


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file), [])
    if not names:
        raise ReportError(f"{path} is empty: its first line must name the columns")
    return names


def _lines(cursor: Connection, path: Path) -> Incoming:
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
    _require_distinct_keys(str(path), names)
    values = ", ".join(f"{_member(name)} AS {quoted(name)}" for name in names)
    _stage(cursor, f"SELECT {values or 'NULL'} FROM {_LINES} WHERE whole")
    cursor.execute(f"DROP TABLE {_LINES}")
    types = {name: "VARCHAR" if name == SURVEY_COLUMN else JSON for name in names}
    return _textual(cursor, path, types, [row[0] for row in broken])


def _member(name: str) -> str:
    """A member of each object as JSON, so that 0 and "0" differ; NULL for null or no member."""
    place = text(_pointer(name))
    if name == SURVEY_COLUMN:
        return f"json ->> {place}"
    return f"CASE WHEN json_type(json, {place}) <> 'NULL' THEN json -> {place} END"


def _pointer(key: str) -> str:
    """A key as an RFC 6901 pointer."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _stage(cursor: Connection, query: str) -> None:
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {_STAGED} AS {query}")


def _textual(
    cursor: Connection, path: Path, types: Mapping[str, str], broken: Sequence[int]
) -> Incoming:
    return Incoming(
        str(path),
        _STAGED,
        types,
        is_text=True,
        claims=_claims(cursor, _STAGED, types),
        broken=len(broken),
        first_broken=tuple(itertools.islice(broken, _SHOWN)),
    )


def _claims(cursor: Connection, relation: str, names: Iterable[str]) -> frozenset[str]:
    """Which surveys the rows say they belong to."""
    if SURVEY_COLUMN not in names:
        return frozenset()
    rows = cursor.execute(
        f"SELECT DISTINCT {SURVEY_COLUMN}::VARCHAR FROM {relation} "
        f"WHERE {SURVEY_COLUMN} IS NOT NULL LIMIT {_MOST_CLAIMS}"
    ).fetchall()
    return frozenset(row[0] for row in rows)


def _require_distinct_columns(name: str, columns: Sequence[str]) -> None:
    """SQL takes names that differ in case for the same. A name may be a raw value: never shown."""
    places = _repeated(columns)
    if places:
        shown = " and ".join(map(str, places[:2]))
        raise ReportError(f"{name}: columns {shown} have the same name (case does not count)")


def _require_distinct_keys(name: str, keys: Sequence[str]) -> None:
    if _repeated(keys):
        raise ReportError(f"{name}: two keys have the same name but for case; keep one of them")


def _repeated(names: Sequence[str]) -> list[int]:
    """1-based places of the first name that comes more than once; none where all differ."""
    lowered = [name.lower() for name in names]
    for name, count in Counter(lowered).items():
        if count > 1:
            return [place for place, other in enumerate(lowered, 1) if other == name]
    return []


def _literal(path: Path) -> str:
    """A path as an SQL string in which no character is a wildcard."""
    return text(glob.escape(str(path.absolute())))


_READERS: Mapping[str, Callable[[Connection, Path], Incoming]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _lines,
    ".ndjson": _lines,
}
