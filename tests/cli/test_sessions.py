"""Commands print what they printed: those of `sessions/*.txt`, in a folder with some surveys."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import store_reports
from support.comparisons import COUNTS, raw
from support.sessions import replay
from support.surveys import (
    ANYTHING,
    LABELLED,
    SMALL,
    TOML,
    app,
    boolean,
    category,
    integer,
    measure,
    mostly_in_clear,
    partly_sensitive,
    people,
    survey_toml,
    unsound,
)

from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql_lab.simulation import SeededEntropy

SESSIONS = sorted((Path(__file__).parent / "sessions").glob("*.txt"))
CLINIC = survey_toml(
    category(
        "illness", "none", "flu", "HIV", "cancer", sensitive=["HIV", "cancer"], missing="code"
    ),
    boolean("member", sensitive=[True]),
    table="clinic",
    mechanism="cprr",
)
IN_DOUBT = survey_toml(boolean("a"), boolean("b"), mechanism="srr-ss")
SHUFFLED = {"trust": "shuffle", "delta": "1e-6", "users": 20_000, "honest": 0.9}
FILES = {
    "app": TOML,
    "labelled": LABELLED,
    "clinic": CLINIC,
    "all-sensitive": CLINIC.replace("sensitive = [true]\n", ""),
    "in-clear": CLINIC.replace('"cprr"', '"truthful"\n[survey.options]\ndelta = 0.01'),
    "person": survey_toml(boolean("member"), mechanism="grr", person="customer_id"),
    "crowd": survey_toml(boolean("member"), epsilon="0.5", mechanism="hio", **SHUFFLED),
    "apart": IN_DOUBT,
    "both": f'{IN_DOUBT}[workload]\nqueries = ["SELECT COUNT(*) FROM app WHERE a AND b"]\n',
    "many": TOML + "".join(boolean(f"x{i}") for i in range(4)),
    "misspelt": f'{TOML}[workload]\nqueries = ["SELECT COUNT(*) FROM app WHERE hight = 1"]\n',
    "bench": COUNTS + measure("pay", -5, 50),
    "fine": survey_toml(integer("v", 1, 64), mechanism="fourier"),
    "coarse": survey_toml(integer("v", 1, 64), mechanism="fourier", options={"bins": 16}),
}

COMPARED = {
    "misspelt": "SELECT COUNT(*) FROM app;\n\nSELECT COUNT(*)\nFROM app WHERE agee = 1",
    "other": "SELECT COUNT(*) FROM other",
    "limit": "SELECT COUNT(*) FROM app ORDER BY 1 LIMIT 1",
    "bars": "SELECT COUNT(*), STDERR(COUNT(*)) FROM app",
    "keyless": "SELECT COUNT(*) FROM app GROUP BY age",
    "text": "SELECT COUNT(*) FROM app WHERE age = 'x'",
    "wrong": "SELEC",
    "nothing": "-- nothing\n",
}


def with_values(**columns):
    """Three people with these values."""
    table = people(3)
    for name, values in columns.items():
        column = pa.array(values, pa.float64() if name == "spent" else pa.int64())
        table = table.set_column(table.column_names.index(name), name, column)
    return table


@pytest.fixture(scope="module")
def surveys(tmp_path_factory):
    """A folder of survey files, of published surveys, and a table of people."""
    folder = tmp_path_factory.mktemp("surveys")
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    published = {
        "app": app(),
        "monthly": design(TOML.replace("[survey]", '[survey]\nperiod = "month"')),
        "cprr": design(CLINIC),
        "jurr": design(CLINIC, mechanism="jurr", epsilon="2"),
        "clear": mostly_in_clear(),
        "unsound": unsound(),
        "crowd": design(FILES["crowd"]),
        "given": partly_sensitive("jurr"),
    }
    for name, survey in published.items():
        (folder / f"{name}.json").write_text(survey.to_json())
    changed = app().to_json().replace('"epsilon":"2"', '"epsilon":"3"')
    (folder / "changed.json").write_text(changed)
    (folder / "none.json").write_text("hello")
    (folder / "bytes.json").write_bytes(b"\xff\xfe")
    (folder / "bad.duckdb").write_bytes(b"not a database" * 1000)
    (folder / "q.sql").write_text("-- name: total\nSELECT COUNT(*) AS n FROM app\n")
    pq.write_table(people(500), folder / "people.parquet")
    pq.write_table(with_values(spent=[900.0, -1.0, 3.0]), folder / "clamped.parquet")
    pq.write_table(with_values(age=[30, 123, None]), folder / "strange.parquet")
    pq.write_table(with_values(age=[30, 123, 12], spent=[None] * 3), folder / "unfit.parquet")
    for name, sql in COMPARED.items():
        (folder / f"{name}.sql").write_text(sql)
    pq.write_table(raw(), folder / "bench.parquet")
    pq.write_table(raw().slice(0, 0), folder / "nobody.parquet")
    pq.write_table(raw().drop_columns("pay"), folder / "unpaid.parquet")
    words = pa.table({"age": ["a", "b"], "pay": [1.0, 1.0]})
    pq.write_table(words, folder / "words.parquet")
    (folder / "regions.csv").write_text("state,region\nNY,east\nCA,west\n")
    store_reports(folder / "app.duckdb", 2_000)
    reports, _ = randomize_batch(app(), people(500, 1), SeededEntropy(2), policy=ANYTHING)
    with open_store(folder / "app.duckdb", read_only=False) as store:
        store.ingest_table(reports, app())
    with open_store(folder / "empty.duckdb", read_only=False) as store:
        store.register(app())
        store.register(design(SMALL))
    return folder


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_commands_print_what_they_printed(session, surveys, tmp_path, monkeypatch, golden):
    folder = shutil.copytree(surveys, tmp_path / "home")
    monkeypatch.chdir(folder)
    golden(session, replay(session.read_text()))
    if session.stem == "refusals":
        assert {path.name for path in folder.iterdir()} == {path.name for path in surveys.iterdir()}
