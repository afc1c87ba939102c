"""Files that analysts bring, look-up tables and margins, and copies of stores."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.harness import Case, Door, Finding
from fuzz.mutate import change_bytes, change_value
from fuzz.reports import column_of
from fuzz.sql import require_finite
from support.shuffled_survey import SCHEMA, raw_reports

from ldpsql.engine.session import Session
from ldpsql.population.sources import Population
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import open_store
from ldpsql.survey import Survey

_LOOKUPS: tuple[dict[str, list[Any]], ...] = (
    {"member": [True, False], "name": ["yes", "=no"]},
    {
        "age": [18, 19, 20, 40, 41],
        "group": ["a", "a", "b", "b", None],
        "share": [0.5, 1, 2, None, 3],
    },
    {"age": [20, 30], "day": ["2026-01-01", "2026-05-05T10:00:00"], "b": ["true", "false"]},
)
_MARGINS: tuple[dict[str, list[Any]], ...] = (
    {"member": ["true", "false"], "people": [100, 300]},
    {"age": ["18..24", "25..40", "41+"], "people": ["50", "1e2", "30.5"]},
    {
        "age": ["18..30", "31..41"] * 2,
        "member": ["true"] * 2 + ["false"] * 2,
        "people": [1, 2, 3, 4],
    },
)


def _survey() -> Survey:
    return Survey.of("app", SCHEMA, "2", "hio")


class Tables(Door):
    """CSV and Parquet files of public tables and of margins.

    Of a look-up table as many rows are asked as were read, and answers by margins are finite.
    """

    name = "tables"
    is_private = False

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        self._store = self._opened.enter_context(open_store(None, read_only=False))
        survey = _survey()
        self._store.ingest_table(raw_reports(survey, 20_000), survey)

    def draw(self, chosen: random.Random) -> Case:
        is_margin = chosen.random() < 0.5
        given = chosen.choice(_MARGINS if is_margin else _LOOKUPS)
        columns = {name: list(values) for name, values in given.items()}
        for _ in range(chosen.choice((0, 1, 1, 2))):
            name = chosen.choice([*columns])
            place = chosen.randrange(len(columns[name])) if columns[name] else 0
            what = chosen.randrange(6)
            if what < 3 and columns[name]:
                columns[name][place] = change_value(chosen, columns[name][place])
            elif what == 3:
                columns[str(change_value(chosen, name))] = columns[name]
            elif what == 4:
                rows = chosen.randint(0, 3)
                columns = {key: values[:rows] for key, values in columns.items()}
            else:
                columns = {key: values * 2 for key, values in columns.items()}
        is_csv = is_margin or chosen.random() < 0.5
        data = _csv(columns) if is_csv else _parquet(chosen, columns)
        if chosen.random() < 0.35:
            data = change_bytes(chosen, data)
        return {"margin": is_margin, "name": "t.csv" if is_csv else "t.parquet", "data": data}

    def put(self, case: Case) -> str:
        path = Path(self._folder, case["name"])
        path.write_bytes(case["data"])
        if case["margin"]:
            session = Session(self._store, seconds=4, sources=Population(path))
            require_finite(session.execute("SELECT member, COUNT(*) FROM app GROUP BY member"))
            require_finite(session.execute("SELECT AVG(age), SUM(age) FROM app"))
            return "weighted"
        table = PublicTable.read(path, "given")
        self._store.add_lookup(table, replace=True)
        session = Session(self._store, seconds=4)
        answer = session.execute("SELECT * FROM given")
        if answer.table.num_rows != table.rows.num_rows:
            raise Finding(f"{answer.table.num_rows} rows in place of {table.rows.num_rows}")
        names = {name.lower() for name in table.rows.column_names} & {"age", "member"}
        if names:
            joined = f"SELECT COUNT(*) FROM app JOIN given USING ({min(names)})"
            require_finite(session.execute(joined))
        return "kept"

    def close(self) -> None:
        self._opened.close()


class Exports(Door):
    """Copies of a store with changed bytes, which another one takes in: whole or not at all."""

    name = "exports"
    seconds = 30.0

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name, "copy.duckdb")
        survey = _survey()
        with open_store(Path(self._folder.name, "own.duckdb"), read_only=False) as store:
            store.ingest_table(raw_reports(survey, 300), survey)
            store.add_lookup(PublicTable.of("t", pa.table({"a": [1, 2]})))
            store.export(self._path)
            self._sizes = store.sizes("app").tolist()
        self._content = self._path.read_bytes()
        self._filled = [place for place, byte in enumerate(self._content) if byte]
        with duckdb.connect(self._path, read_only=True) as copy:
            self._columns = copy.execute(
                "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
                "WHERE NOT internal"
            ).fetchall()

    def draw(self, chosen: random.Random) -> Case:
        what = chosen.random()
        if what < 0.5:
            return {"data": None, "statement": self._change(chosen)}
        data = bytearray(self._content)
        if what < 0.6:
            return {"data": change_bytes(chosen, bytes(data)), "statement": ""}
        places = self._filled if what < 0.8 else range(len(data))
        for _ in range(chosen.choice((1, 1, 2, 3))):
            data[chosen.choice(places)] ^= 1 << chosen.randrange(8)
        return {"data": bytes(data), "statement": ""}

    def _change(self, chosen: random.Random) -> str:
        """A statement that changes what a copy holds, as no program does."""
        schema, table, column, kind = chosen.choice(self._columns)
        name = f'"{schema}"."{table}"'
        if chosen.random() < 0.2:
            return f"DELETE FROM {name} WHERE rowid % {chosen.choice((1, 2, 3))} = 0"
        if chosen.random() < 0.1:
            return f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1"
        values = ("NULL", "''", "'1'", "0", "-1", "1", "2**31", "'2026-01-01'", "'x'", "'[]'")
        value = chosen.choice((*values, f"\"{column}\"::VARCHAR || '0'"))
        return f'UPDATE {name} SET "{column}" = TRY_CAST({value} AS {kind}) WHERE rowid % 2 = 0'

    def put(self, case: Case) -> str:
        self._path.write_bytes(self._content if case["data"] is None else case["data"])
        if case["statement"]:
            with duckdb.connect(self._path) as copy, suppress(duckdb.ConstraintException):
                copy.execute(case["statement"])
        with open_store(None, read_only=False) as store:
            try:
                store.import_surveys(self._path)
            except Exception:
                if store.surveys() or store.lookups():
                    raise Finding("a copy is refused, and a part of it is there") from None
                raise
            if store.surveys() and store.sizes("app").tolist() != self._sizes:
                raise Finding(f"other reports are taken: {store.sizes('app').tolist()}")
            if faults := store.check():
                raise Finding(f"the store is not as it should be: {faults}")
            return "taken" if store.surveys() else "nothing in it"

    def close(self) -> None:
        self._folder.cleanup()


def _csv(columns: dict[str, list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=False):
        writer.writerow(
            "" if v is None else json.dumps(v) if isinstance(v, bool) else v for v in row
        )
    return text.getvalue().encode("utf-8", "surrogatepass")


def _parquet(chosen: random.Random, columns: dict[str, list[Any]]) -> bytes:
    sink = io.BytesIO()
    try:
        arrays = {name: column_of(chosen, values) for name, values in columns.items()}
        pq.write_table(pa.table(arrays), sink)
    except (pa.ArrowException, UnicodeEncodeError):  # what Parquet has no type for
        return _csv(columns)
    return sink.getvalue()
