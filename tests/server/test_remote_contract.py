"""Every public call of a connection gives the same over HTTP as from the file, or refuses in one
line: the two classes are searched for calls that no case covers."""

from __future__ import annotations

import shutil
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from support.http import serving
from support.shuffled_survey import SCHEMA, raw_reports

import ldpsql
from ldpsql.dbapi.connection import Connection, Cursor
from ldpsql.server.tokens import Tokens
from ldpsql.sql.lookups import PublicTable
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device.errors import Error, NotSupportedError

SURVEY = Survey.of("app", SCHEMA, "2", "hio")
SMOOTH = Survey.of("smooth", SCHEMA, "2", "grr")
GROUPS = "SELECT member, COUNT(*) AS n FROM app GROUP BY member ORDER BY member"
MARGINS = pa.table({"member": [True, False], "people": [700, 300]})
NOT_SENT = {"register", "unregister", "add_lookup", "remove_lookup"}
"""What is refused over HTTP, and nothing else is."""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A file; the address of a collector with the same, and an admin's token."""
    folder = tmp_path_factory.mktemp("places")
    local, other = folder / "local.duckdb", folder / "other.duckdb"
    with open_store(local, read_only=False) as store:
        for survey in (SURVEY, SMOOTH):
            store.ingest_table(raw_reports(survey, 2000), survey)
        store.add_lookup(PublicTable.of("regions", {"age": [18, 19], "half": ["low", "high"]}))
    shutil.copy(local, other)
    token = Tokens.beside(other).add("eve", "admin")
    with serving("--db", str(other)) as (_, address):
        yield local, address, token


def connecting(places, **settings):
    local, address, token = places
    yield lambda: ldpsql.connect(local, **settings)
    yield lambda: ldpsql.connect(address, token=token, **settings)


def seen(connect, work):
    """What a call gives, in plain values; an error as its class and text."""
    try:
        with connect() as connection:
            return plain(work(connection))
    except Error as error:
        assert "\n" not in str(error).split("\n  ", maxsplit=1)[0]
        return type(error), str(error)


def plain(value):
    if isinstance(value, pa.Table):
        return value.to_pydict(), value.schema.metadata
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Cursor):
        return value.description, value.fetchall(), value.notes
    if isinstance(value, PublicTable):
        return value.name, value.digest, plain(value.rows)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def estimates(sql, parameters=None):
    def work(connection):
        found = connection.execute(sql, parameters).estimates
        return found.values, found.covariance, found.replicates

    return work


def on_cursor(work):
    return lambda connection: work(connection.execute(GROUPS))


def closed(work):
    def late(connection):
        cursor = connection.execute(GROUPS)
        connection.close()
        return work(connection, cursor)

    return late


QUESTIONS = [
    (GROUPS, None),
    ("SELECT COUNT(*) FROM app WHERE age < ? AND member = ?", [Decimal("30.0"), True]),
    ("SELECT COUNT(*) FROM app WHERE age < ?", (np.int64(30),)),
    ("SELECT COUNT(*) FROM app WHERE age < :most", {"most": 30.5}),
    ("SELECT COUNT(*) AS x, COUNT(*) AS x FROM app WHERE member = :m", {"m": True}),
    ("SELECT SUM(age), AVG(age), MEDIAN(age) FROM app", None),
    ("SELECT AVG(age) FROM app WHERE age > 18 AND age < 18.5", None),
    ("SELECT 'é', NULL, COUNT(*) FROM app", []),
    ("SELECT COUNT(*) FROM app JOIN regions USING (age) WHERE half = 'low'", None),
    ("SHOW TABLES", None),
    ("DESCRIBE app", None),
    ("EXPLAIN SELECT COUNT(*) FROM app", None),
    ("SELECT COUNT(*) FROM app WHERE age < ?", [date(2026, 1, 31)]),
    ("SELECT COUNT(*) FROM app WHERE age < ?", [datetime(2026, 1, 31, 1, 2, 3)]),
    ("SELECT COUNT(*) FROM app WHERE age < ?", [float("nan")]),
    ("SELECT COUNT(*) FROM app WHERE age < ?", [[1]]),
    ("SELECT COUNT(*) FROM app WHERE age < ?", []),
    ("SELECT COUNT(*) FROM app", [b"x"]),
    ("SELECT COUNT(*) FROM app WHERE age BETWEEN ? AND ?", {30, 9}),
    ("SELECT COUNT(*) FROM app WHERE age < ?", "x"),
    ("SELECT COUNT(*) FROM none", None),
    ("SELECT agee FROM app", None),
    ("SELEC", None),
    ("", None),
]
CASES = {
    "execute": [lambda c, q=question: c.execute(*q) for question in QUESTIONS],
    "sql": [
        lambda c: c.sql(GROUPS).rows(),
        lambda c: c.sql(GROUPS).arrow(intervals=True),
        lambda c: c.sql("SELECT COUNT(*) FROM app WHERE age < ?", [30]).rows(),
        lambda c: c.sql("SELECT agee FROM app"),
    ],
    "cursor": [lambda c: c.cursor().execute(GROUPS), lambda c: c.cursor().fetchone()],
    "surveys": [lambda c: [survey.to_json() for survey in c.surveys]],
    "lookups": [lambda c: c.lookups],
    "synthesize": [
        lambda c: c.synthesize(30, table="app", seed=1),
        lambda c: c.synthesize(30),
        lambda c: c.synthesize(30, table="none"),
        lambda c: c.synthesize(-1, table="app"),
    ],
    "estimates": [
        estimates(GROUPS),
        estimates("SELECT AVG(age), COUNT(*) FROM app"),
        estimates("SELECT COUNT(*) FROM app WHERE age < ?", [Decimal(30)]),
        estimates("SHOW TABLES"),
    ],
    "ingest": [
        lambda c: c.ingest("there/is/no/file.parquet"),
        lambda c: c.ingest(raw_reports(SURVEY, 20)),
        lambda c: c.ingest(raw_reports(SURVEY, 20).drop_columns(["ldpsql_id"])),
    ],
    "require_open": [lambda c: c.require_open()],
    "commit": [lambda c: c.commit()],
    "rollback": [lambda c: c.rollback()],
    "close": [
        closed(lambda connection, _: connection.execute(GROUPS)),
        closed(lambda connection, _: connection.surveys),
        closed(lambda _, cursor: cursor.fetchall()),
        on_cursor(lambda cursor: (cursor.close(), cursor.fetchall())),
    ],
    "session": [lambda c: c.session.seconds],
    "register": [lambda c: c.register("more", {"a": [1]})],
    "unregister": [lambda c: c.unregister("more")],
    "add_lookup": [lambda c: (c.add_lookup({"a": [1]}, "more"), c.remove_lookup("more"))],
    "remove_lookup": [lambda c: c.remove_lookup("more")],
    "executemany": [lambda c: c.cursor().executemany(GROUPS, [])],
    "answer": [
        lambda c: c.cursor().answer,
        on_cursor(lambda cursor: [cursor.answer.rows(), repr(cursor.answer)]),
        on_cursor(lambda cursor: cursor.answer._repr_html_()),
    ],
    "result": [
        on_cursor(lambda cursor: [cursor.result.level, cursor.result.reports]),
        on_cursor(lambda cursor: list(map(str, cursor.result.promised))),
        on_cursor(lambda cursor: [cursor.result.estimators, cursor.result.explain]),
    ],
    "description": [on_cursor(lambda cursor: cursor.description)],
    "rowcount": [on_cursor(lambda cursor: cursor.rowcount)],
    "fetchone": [on_cursor(lambda cursor: [cursor.fetchone() for _ in range(3)])],
    "fetchmany": [on_cursor(lambda cursor: [cursor.fetchmany(), cursor.fetchmany(5)])],
    "fetchall": [on_cursor(lambda cursor: cursor.fetchall())],
    "arrow": [
        on_cursor(lambda cursor: cursor.arrow()),
        on_cursor(lambda cursor: cursor.arrow(intervals=True)),
    ],
    "df": [on_cursor(lambda cursor: cursor.df(intervals=True).to_dict())],
    "to_df": [on_cursor(lambda cursor: cursor.to_df().to_dict())],
    "pl": [on_cursor(lambda cursor: cursor.pl().to_dict(as_series=False))],
    "show": [on_cursor(lambda cursor: cursor.show())],
    "table": [lambda c: c.table("app").rows(), lambda c: c.table("none")],
    "notes": [on_cursor(lambda cursor: cursor.notes)],
    "connection": [on_cursor(lambda cursor: cursor.connection.surveys[0].fingerprint)],
    "setinputsizes": [on_cursor(lambda cursor: cursor.setinputsizes([]))],
    "setoutputsize": [on_cursor(lambda cursor: cursor.setoutputsize(1))],
}


def public_names():
    own = {name for kind in (Connection, Cursor) for name in vars(kind) if name[0] != "_"}
    return {name for name in own if not name.endswith(("Error", "Warning"))}


def test_every_public_name_has_a_case():
    assert public_names() <= CASES.keys()


def test_it_is_the_same_over_http(places):
    for name, works in CASES.items():
        for number, work in enumerate(works):
            local, remote = (seen(connect, work) for connect in connecting(places))
            if name in NOT_SENT and remote != local:
                kind, text = remote
                assert kind is NotSupportedError
                assert text.endswith("where the database is, not over HTTP")
            else:
                assert repr(remote) == repr(local), (name, number)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "settings",
    [
        {"confidence": 0.5},
        {"estimator": "smooth"},
        {"estimator": "none"},
        {"weights": MARGINS},
        {"weights": pa.table({"age": [18, 19], "people": [3, 4]})},
        {"weights": pa.table({"height": [18, 19], "people": [3, 4]})},
        {"weights": MARGINS, "confidence": 0.6},
        {"census": True},
        {"census": True, "one_population": True},
        {"census": True, "weights": MARGINS},
        {"one_population": True},
        {"confidence": 1.5},
        {"timeout": -1.0},
        {"timeout": 0.0},
    ],
)
def test_settings_are_the_same_over_http(places, settings):
    for sql in (GROUPS, "SELECT COUNT(*), AVG(age) FROM smooth WHERE member"):
        for work in (lambda c, q=sql: c.execute(q), estimates(sql)):
            local, remote = (seen(connect, work) for connect in connecting(places, **settings))
            assert repr(remote) == repr(local)
