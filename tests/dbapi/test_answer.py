from __future__ import annotations

import re
import sys
import warnings
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from support.surveys import category, integer, public, survey_toml, visitors

import ldpsql
from ldpsql.designer import design
from ldpsql.terminal import figures as plots
from ldpsql_lab.simulation import simulate

TOML = survey_toml(
    *(integer("age", 0, 9), category("state", "CA", "<NY>"), public("day", "date")),
    epsilon="4",
    mechanism="hio",
)
BY_STATE = "SELECT state, COUNT(*) AS n, AVG(age) AS mean FROM app GROUP BY state ORDER BY state"
BY_AGE = "SELECT age, COUNT(*) AS n FROM app GROUP BY age"
PEOPLE = 4000


@pytest.fixture(scope="module")
def connection():
    with simulate(design(TOML), visitors(PEOPLE, ("CA", "<NY>")), seed=3) as opened:
        yield opened


def test_an_answer_is_what_a_cursor_gives(connection):
    asked, cursor = connection.sql(BY_STATE), connection.execute(BY_STATE)
    assert isinstance(asked, ldpsql.Answer)
    assert asked.rows() == cursor.fetchall()
    assert asked.columns == ("state", "n", "mean")
    assert len(asked) == 2
    assert asked.notes == cursor.notes
    assert (asked.estimates.covariance == cursor.estimates.covariance).all()
    by_name = connection.sql("SELECT COUNT(*) FROM app WHERE age < :a", {"a": 4})
    assert by_name.rows() == connection.sql("SELECT COUNT(*) FROM app WHERE age < ?", [4]).rows()


def test_an_answer_goes_on_as_arrow_pandas_and_polars(connection):
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    asked = connection.sql(BY_STATE)
    names = ["state", "n", "n_stderr", "n_low", "n_high", "mean", "mean_stderr"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = (asked.df(intervals=True), asked.pl(intervals=True))
        whole = (asked.df(), asked.pl(), pa.table(asked), polars.DataFrame(asked))
    assert isinstance(frames[0], pandas.DataFrame)
    assert isinstance(frames[1], polars.DataFrame)
    for frame in frames:
        assert [*frame.columns][:7] == names
    exact = [row[1] for row in asked.rows()]
    for frame in whole:
        assert pa.table(frame)["n"].to_pylist() == exact  # to the last bit


def test_repeated_names_are_told_apart_in_tables(connection):
    asked = connection.sql("SELECT COUNT(*) AS n, COUNT(*) AS n FROM app")
    assert asked.columns == ("n", "n")
    assert asked.arrow().column_names == [*asked.df().columns] == asked.pl().columns == ["n", "n_2"]


@pytest.mark.parametrize(("method", "package"), [("df", "pandas"), ("pl", "polars")])
def test_what_is_missing_is_said(connection, monkeypatch, method, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ldpsql.NotSupportedError, match=rf"pip install ldpsql\[{package}\]"):
        getattr(connection.sql(BY_STATE), method)()


def test_a_prompt_shows_the_table_and_the_notes(connection):
    lines = repr(connection.sql(BY_STATE)).splitlines()
    assert lines[0].split() == ["state", "n", "mean"]
    assert re.fullmatch(r"CA +\d+ ± \d+ +\d\.\d+ ± 0\.\d+", lines[3])
    assert lines[4] == "note: ± is half the width of the 95 % interval"
    assert repr(connection.sql("EXPLAIN " + BY_STATE)).startswith("survey app: hio, epsilon 4\n")


def test_long_answers_are_cut_where_they_are_shown_and_nowhere_else(connection):
    asked = connection.sql("SELECT age, state, day, COUNT(*) FROM app GROUP BY ALL")
    assert len(asked) == len(asked.df()) == len(asked.rows()) == 60
    asked = connection.sql(
        "SELECT age, state, day, COUNT(*) FROM app GROUP BY CUBE (age, state), day"
    )
    more = f"{len(asked) - 60} more rows are not shown; df() and rows() have all"
    assert f"note: {more}" in repr(asked)
    assert more in asked._repr_html_()
    assert asked._repr_html_().count("<tr>") == 61


def html(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def test_a_notebook_shows_a_table_a_picture_and_the_notes(connection):
    shown = html(connection.sql(BY_STATE)._repr_html_())
    cells = [[cell.text for cell in row] for row in shown.iter("tr")]
    assert cells[0] == ["state", "n", "mean"]
    assert [row[0] for row in cells[1:]] == ["<NY>", "CA"]
    assert all("±" in row[1] and "±" in row[2] for row in cells[1:])
    svg = "{http://www.w3.org/2000/svg}"
    assert len([*shown.iter(f"{svg}svg")]) == 1
    words = {text.text for text in shown.iter(f"{svg}text")}
    assert {"<NY>", "CA", "app, with 95 % intervals"} <= words
    assert [p.text for p in shown.iter("p")] == ["± is half the width of the 95 % interval"]


def test_a_picture_in_a_page_takes_its_colours_and_leaves_its_styles_alone(connection):
    text = connection.sql(BY_AGE)._repr_html_()
    assert "<style" not in text
    assert "currentColor" in text
    assert plots._INK not in text
    assert "#ffffff" not in text  # no ground of its own


def test_an_answer_without_a_picture_says_why_unless_it_is_one_row(connection, monkeypatch):
    assert "picture" not in connection.sql("SELECT COUNT(*) FROM app WHERE age < 3")._repr_html_()
    alone = connection.sql("SELECT state FROM app GROUP BY state")._repr_html_()
    assert "no picture: a picture shows estimates of groups" in alone
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = connection.sql(BY_STATE)._repr_html_()
    assert "no picture: a picture needs matplotlib: pip install ldpsql[plot]" in text
    assert "<table" in text
    with pytest.raises(ldpsql.NotSupportedError, match="needs matplotlib"):
        connection.sql(BY_STATE).plot()


def test_explain_is_shown_as_it_is(connection):
    text = connection.sql("EXPLAIN " + BY_STATE)._repr_html_()
    assert html(text).tag == "pre"
    assert "&lt;NY&gt;" in text or "survey app" in text


def test_cells_and_notes_cannot_write_html(connection):
    asked = connection.sql("SELECT '<img src=x>' AS \"<b>\", COUNT(*) AS n FROM app WHERE age < 2")
    text = asked._repr_html_()
    assert "<img" not in text
    assert "<b>" not in text
    assert "&lt;img" in text
