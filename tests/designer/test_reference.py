"""docs/survey.md says every key that the reader of survey files knows, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.surveys import integer, survey_toml

from ldpsql.designer.file import KEYS, read_file
from ldpsql_device import schema
from ldpsql_device.errors import SurveyError
from tools import survey_reference as page

DOCS = Path(__file__).parents[2] / "docs"  # the package may be installed elsewhere


def test_the_page_is_up_to_date():
    hint = "run python -m tools.survey_reference"
    assert (DOCS / "survey.md").read_text(encoding="utf-8") == page.reference(), hint


def test_a_key_that_is_read_and_not_described_is_noticed(monkeypatch):
    monkeypatch.setitem(KEYS["survey"], "colour", (str, "a string"))
    with pytest.raises(ValueError, match=r"\[survey\]: colour"):
        page.reference()
    monkeypatch.undo()

    def read(name, keys):
        keys.pop("colour", None)
        return read_measure(name, keys)

    read_measure = schema.READERS["measure"]
    monkeypatch.setitem(schema.READERS, "measure", read)
    with pytest.raises(KeyError, match="colour"):
        page.reference()


def test_a_key_that_is_described_and_not_read_is_noticed(monkeypatch):
    monkeypatch.setitem(page._COLUMN, "colour", "Its colour.")
    with pytest.raises(ValueError, match="described, and not read: colour"):
        page.reference()


@pytest.mark.parametrize("table", ["survey", "workload"])
def test_what_is_not_on_the_page_is_refused(table):
    text = survey_toml(integer("age", 0, 9)) + ("[workload]\n" if table == "workload" else "")
    place = f"[{table}]\n"
    with pytest.raises(SurveyError, match=f"\\[{table}\\]: unknown key 'colour'"):
        read_file(text.replace(place, f"{place}colour = 1\n"))
