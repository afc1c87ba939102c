"""Texts from strangers are inert in every place where they are shown.

`PLACES` is the table: the place, what makes a text inert there, how it is shown there with the rest
of the product, and what must hold of what is shown. Every place fails once its function does
nothing. What Spark answers is shown by the same functions; the page's function is tried by
clients/page/test/dom.test.js, and the page in a browser by tests/browser.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from markdown_it import MarkdownIt
from support.surveys import ANYTHING, category, integer, public, survey_toml

import ldpsql
from ldpsql import errors as errors_of_sql
from ldpsql.audit import audit_design
from ldpsql.audit import page as audit_page
from ldpsql.dbapi import answer as answers
from ldpsql.dbapi.answer import Answer
from ldpsql.dbapi.asking import write_result
from ldpsql.designer import design
from ldpsql.engine import result as results
from ldpsql.randomize.table import randomize
from ldpsql.server import writer
from ldpsql.sql.quoting import literal
from ldpsql.terminal import failure, figures, formats, notes, progress, table_files, text
from ldpsql.workbench import completion
from ldpsql.workbench.charts import draw_svg
from ldpsql_device import errors
from ldpsql_device.survey import utc_today

SRC = Path(__file__).parents[2] / "src"
NASTY = (
    *("\x1b[2J\x1b]0;owned\x07", "a\rb\nc\x00d", "\x9b31m", "\u202eDLROW", "\u2066x\u200f\u061c"),
    *('=HYPERLINK("https://evil.example/","x")', "\uff1d1+1", "\u202e=1+1", "\ufeff@SUM(A1)"),
    *("  \u200b\uff0b1", "\t-1+cmd|' /C calc'!A0", "\u00a0\uff0d2", "\uff20x", "\n=1"),
    *("![x](https://evil.example/p.png)", "[a](javascript:alert(1))", "<https://evil.example>"),
    *("https://evil.example/x", "www.evil.example", "a@evil.example", "`code` *b* _i_ ~~s~~ |x|"),
    *("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "&lt;b&gt;", "\"'>"),
    *(r"$\href{javascript:alert(1)}{x}$", r"$\frac{$", r"\$x$", "$", r"$\undefined$", "_hidden"),
    *("{{ 7*7 }}", "{% raw %}", "\u2028\u2029", "a\\", "\\|", "東京 é ± ok"),
)


@cache
def answer() -> Answer:
    """How often each text was sent, under a name and beside a note that are nasty themselves."""
    survey = design(
        survey_toml(
            integer("age", 0, 9),
            category("city", *(t for t in NASTY if len(t.strip()) == len(t) and "\0" not in t)),
            public("version", "text", label='<b>=1 "$x$"'),
            mechanism="grr",
            epsilon="1",
        )
    )
    sent = 3 * len(NASTY)
    people = pa.table({"age": [3] * sent, "city": ["$"] * sent, "version": list(NASTY) * 3})
    connection = ldpsql.connect()
    connection.ingest(randomize(survey, people, policy=ANYTHING), survey=survey)
    name = r"=<b>$\frac{$ [a](b)" + "\u202e"
    return connection.sql(f'SELECT version AS "{name}", COUNT(*) AS "{name}" FROM app GROUP BY 1')


# -- how texts are shown -------------------------------------------------------------------------


def show_as(form: str) -> Callable[[pytest.CaptureFixture[bytes]], bytes]:
    """An answer in one of the formats, on stdout."""

    def show(capture: pytest.CaptureFixture[bytes]) -> bytes:
        write_result(answer().result, form, None, intervals=False)
        return capture.readouterr().out

    return show


def show_on_terminal(capture: pytest.CaptureFixture[bytes]) -> bytes:
    """CSV, which keeps a text as it is, where a terminal is to show it."""
    document = formats.Document(
        schema=answer().arrow().schema, batches=[answer().arrow()], text="\n".join(NASTY)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        formats.write_document(document, "csv", None)
    return capture.readouterr().out


def show_error(capture: pytest.CaptureFixture[bytes]) -> bytes:
    """An error and the place in the SQL, as a command ends with it."""
    for nasty in NASTY:
        sql = f'SELECT "{nasty}" FROM app'.replace("\0", "")
        failure.report(errors.DataError(f"column {nasty} of {nasty}"))
        failure.report(errors_of_sql.QueryError("x", sql=sql, place=errors_of_sql.Place(1, 9, 3)))
    return capture.readouterr().err


def show_exception(_: object) -> bytes:
    """An error as Python's prompt and a notebook show it, and as a log writes it."""
    made = [errors.DataError(f"a {nasty}") for nasty in NASTY]
    shown = [line for error in made for line in error._render_traceback_()]
    return "\n".join([*shown, *map(str, made)]).encode()


def show_notes(capture: pytest.CaptureFixture[bytes]) -> bytes:
    notes.show_notes(NASTY)
    notes.show_text("\n".join(NASTY).replace("\r", ""))
    notes.show_text("\t".join(NASTY), err=True)
    return b"".join(capture.readouterr())


def show_progress(_: object) -> bytes:
    bar = progress.Progress("reading", io.StringIO())
    lines = []
    for nasty in NASTY:
        bar.show(nasty)
        lines.append(bar._line())
    return "\n".join(lines).encode()


def show_log(capture: pytest.CaptureFixture[bytes]) -> bytes:
    for nasty in NASTY:
        writer._complain(nasty)
    return capture.readouterr().err


def show_page(_: object) -> bytes:
    """The page of an audit."""
    [survey] = answer().result.surveys
    audit = audit_design(survey.design, {}, survey=survey)
    return audit_page.write_page(survey, audit, None, NASTY, utc_today()).encode()


def show_completions(_: object) -> bytes:
    columns = {"city": SimpleNamespace(values=[literal(t) for t in NASTY if "\0" not in t])}
    found = completion._offer_values("SELECT 1 FROM app WHERE city = ", columns)
    return "\n".join(each.display_text for each in found).encode()


def show_narrow(_: object) -> bytes:
    """Tables by other ways: row by row, with broken headings, labels and paragraphs."""
    rows = [[nasty, "1"] for nasty in NASTY]
    lines = [*text.upright_lines(list(NASTY[:2]), rows)]
    lines += text.table_lines(NASTY, [NASTY], [False] * len(NASTY), heading_width=9)
    lines += text.labelled_lines([(nasty, nasty) for nasty in NASTY])
    return "\n".join([*lines, *text.fill(" ".join(NASTY))]).encode()


# -- what must hold ------------------------------------------------------------------------------


def is_plain(shown: bytes) -> bool:
    """A terminal has nothing to obey in it, and nothing turns its direction."""
    return all(letter.isprintable() or letter in "\n\t" for letter in shown.decode())


def is_no_formula(shown: bytes, delimiter: str = ",") -> bool:
    """No cell but a number begins as formulas do, once what nobody sees is left out."""

    def begins(cell: str) -> str:
        seen = "".join(c for c in cell if unicodedata.category(c)[0] not in "CZ")
        return unicodedata.normalize("NFKC", seen)[:1]

    rows = csv.reader(io.StringIO(shown.decode(), newline=""), delimiter=delimiter)
    cells = [cell for row in rows for cell in row]
    kept = {cell.removeprefix("'") for cell in cells} >= {*NASTY}
    return kept and all(begins(cell) not in {*"=+-@"} for cell in cells if not is_number(cell))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_table_of_texts(shown: bytes) -> bool:
    """Markdown with nothing in its cells but texts, one cell for each, and no bare address."""
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(shown.decode())
    inside = [child for token in parsed for child in token.children or ()]
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in parsed}
    raw = shown.decode().lower()
    return (
        {child.type for child in inside} <= {"text", "text_special"}
        and kinds <= {"table", "thead", "tbody", "tr", "th", "td", "inline"}
        and sum(token.type == "td_open" for token in parsed) == 2 * len(NASTY)
        and not re.search(r"(?<!\\)(://|\$|@)|www\.|\{\{|\{%", raw)
    )


class _Tags(HTMLParser):
    """The tags of a page, with their attributes' names."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[tuple[str, ...]] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add((tag, *(name for name, _ in attributes)))


def is_harmless_html(shown: bytes) -> bool:
    """Nothing loads, nothing runs, and nothing turns the direction."""
    parser = _Tags()
    parser.feed(shown.decode())
    names = {tag for tag, *_ in parser.tags}
    given = {name for _, *found in parser.tags for name in found}
    return (
        is_plain(shown)
        and not names & {"script", "img", "a", "iframe", "object", "b", "image", "foreignobject"}
        and not any(name.startswith("on") or name == "src" for name in given)
    )


def is_drawing_of_texts(shown: bytes) -> bool:
    """An SVG that shows the texts letter by letter: mathematics would be glyphs of their own."""
    root = ET.fromstring(shown)
    held = {element.text for element in root.iter() if element.tag.endswith("text")}
    seen = {errors.one_line(nasty) for nasty in NASTY if errors.one_line(nasty).strip()}
    return is_harmless_html(shown) and {text.strip() for text in seen} <= {
        (text or "").strip() for text in held
    }


def is_same_json(shown: bytes) -> bool:
    said = json.loads(shown)
    return is_plain(shown) and {row[said["columns"][0]] for row in said["rows"]} == {*NASTY}


def is_same_table(shown: bytes) -> bool:
    """The texts as they came; what is said of them is one line for each survey."""
    stream = io.BytesIO(shown)
    is_parquet = shown[:4] == b"PAR1"
    table = pq.read_table(stream) if is_parquet else pa.ipc.open_stream(stream).read_all()
    said = table.schema.metadata[GUARANTEE]
    return {*table.column(0).to_pylist()} == {*NASTY} and is_plain(said) and b"\n" not in said


GUARANTEE = results.GUARANTEE_KEY.encode()


class Place(NamedTuple):
    """function: what makes texts inert there, as (module, name)."""

    function: tuple[object, str]
    show: Callable[..., bytes]
    holds: Callable[[bytes], bool]


PLACES = {
    "terminal, table": Place((text, "one_line"), show_as("table"), is_plain),
    "terminal, others": Place((text, "one_line"), show_narrow, is_plain),
    "terminal, any format": Place((formats, "lines_of"), show_on_terminal, is_plain),
    "terminal, completions": Place((completion, "one_line"), show_completions, is_plain),
    "prompt of Python": Place((text, "one_line"), lambda _: repr(answer()).encode(), is_plain),
    "notes and output of commands": Place((notes, "lines_of"), show_notes, is_plain),
    "errors of commands": Place((notes, "lines_of"), show_error, is_plain),
    "errors": Place((errors, "one_line"), show_exception, is_plain),
    "progress": Place((progress, "one_line"), show_progress, is_plain),
    "log": Place((notes, "one_line"), show_log, is_plain),
    "CSV": Place((table_files, "spreadsheet_text"), show_as("csv"), is_no_formula),
    "TSV": Place(
        (table_files, "spreadsheet_text"),
        show_as("tsv"),
        lambda shown: is_no_formula(shown, "\t"),
    ),
    "Markdown": Place((text, "markdown_text"), show_as("markdown"), is_table_of_texts),
    "JSON": Place((formats, "json_text"), show_as("json"), is_same_json),
    "notebook": Place(
        (answers, "html_text"), lambda _: answer()._repr_html_().encode(), is_harmless_html
    ),
    "picture": Place(
        (figures, "figure_text"),
        lambda _: draw_svg(answer().result).encode(),
        is_drawing_of_texts,
    ),
    "page of an audit": Place((audit_page, "html_text"), show_page, is_harmless_html),
    "Arrow": Place((results, "one_line"), show_as("arrow"), is_same_table),
    "Parquet": Place((results, "one_line"), show_as("parquet"), is_same_table),
}


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # fonts lack scripts
@pytest.mark.parametrize("name", PLACES)
def test_texts_are_inert(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    place = PLACES[name]
    shown = place.show(capsysbinary)
    assert shown.strip()
    assert place.holds(shown)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", PLACES)
def test_texts_are_not_where_the_function_does_nothing(
    name: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    place = PLACES[name]
    module, function = place.function
    if name in ("Arrow", "Parquet"):  # no text of a stranger gets there today
        monkeypatch.setattr(
            type(answer().result), "promised", property(lambda _: ["a\nb\u202e"]), raising=False
        )
        assert place.holds(place.show(capsysbinary))
    monkeypatch.setattr(module, function, lambda shown: shown)
    try:
        shown = place.show(capsysbinary)
    except (ValueError, UnicodeEncodeError):  # what matplotlib makes of its own language
        return
    assert not place.holds(shown)


def test_commands_and_logs_write_by_these_functions_alone() -> None:
    """Whoever prints by another way shows what a stranger wrote as it came."""
    allowed = {"ldpsql/terminal/notes.py", "ldpsql/terminal/formats.py", "ldpsql/dbapi/answer.py"}
    allowed |= {"ldpsql_lab/demo/devices.py"}
    found = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                *("print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"),
                *("sys.stdout.buffer.write", "logging.getLogger.info", "warnings.warn"),
            ):
                found.add(path.relative_to(SRC).as_posix())
    assert found <= allowed, found - allowed
