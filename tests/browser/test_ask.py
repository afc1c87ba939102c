"""Questions on the page, and their answers as tables, pictures and files."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.http import fetch, serving
from support.surveys import ANYTHING, boolean, category, integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql_lab.simulation import SeededEntropy

EVIL = '<img src=x onerror="window.evil=1">'
CITIES = ("Berlin", "O'Fallon", EVIL, "=1+1")
SURVEY = survey_toml(
    integer("age", 18, 49, label=f"{EVIL} How old are you?"),
    category("city", *CITIES),
    boolean("member"),
    measure("spent", 0, 100),
    public("version", "text"),
    table="people",
    label=f"</script>{EVIL}",
    epsilon="4",
    mechanism="ahio",
)
PEOPLE = 4000
BY_CITY = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A collector with reports: its address, and a token."""
    path = tmp_path_factory.mktemp("asked") / "s.duckdb"
    survey, random = design(SURVEY), np.random.default_rng(5)
    people = pa.table(
        {
            "age": random.integers(18, 50, PEOPLE),
            "city": random.choice(CITIES, PEOPLE, p=[0.5, 0.3, 0.15, 0.05]),
            "member": random.random(PEOPLE) < 0.4,
            "spent": random.uniform(0, 100, PEOPLE),
            "version": random.choice(["1.2", EVIL], PEOPLE),
        }
    )
    reports, _ = randomize_batch(survey, people, SeededEntropy(1), policy=ANYTHING)
    with open_store(path, read_only=False) as store:
        store.ingest_table(reports, survey)
    token = Tokens.beside(path).add("ann", "analyst")
    with serving("--db", str(path)) as (_, address):
        yield address, token


def known(asked, sql, **more):
    """What the collector answers to a program."""
    address, token = asked
    body = json.dumps({"sql": sql, "texts": True, **more}).encode()
    return fetch(f"{address}/v1/query", body, authorization=f"Bearer {token}").json


def enter(page, token):
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Use it").click()


def write(page, sql):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(sql)


def cells(page):
    return page.locator(".answer tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", event => violations.push(event.violatedDirective));
"""


@pytest.fixture
def page(person, asked):
    """The page, for somebody who has given a token; it does nothing that its policy forbids."""
    person.context.add_init_script(WATCH)
    opened = person.open(asked[0])
    enter(opened, asked[1])
    opened.get_by_role("heading", name="Ask").wait_for()
    yield opened
    assert opened.evaluate("violations") == []


def test_a_question_is_asked_with_the_keyboard_and_answered_as_on_the_terminal(page, asked):
    write(page, BY_CITY)
    page.keyboard.press("Control+Enter")
    page.locator(".answer table").wait_for()
    expected = known(asked, BY_CITY)
    assert cells(page) == expected["texts"]
    assert " ± " in cells(page)[0][1]
    notes = page.locator(".notes li").all_text_contents()
    assert notes == [
        "± is half the width of the 95 % interval",
        *expected["notes"],
        *expected["weak"],
    ]
    # Labels, values, columns and notes are texts, wherever they come from.
    assert page.evaluate("window.evil") is None
    assert page.locator("main img").count() == 0
    # A weak number is told apart, in the table and in the picture.
    assert page.locator(".answer td .weak").count() == len(
        [text for row in expected["texts"] for text in row if text.endswith("~")]
    )


def test_notes_are_texts_whatever_they_quote(page):
    write(page, f"SELECT COUNT(*) FROM people WHERE version = '{EVIL}?'")
    page.keyboard.press("Control+Enter")
    page.locator(".answer table").wait_for()
    assert f"{EVIL}?" in page.locator(".notes").text_content()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.evil") is None


def test_the_picture_has_a_bar_for_each_row_and_its_errors(page, asked):
    write(page, BY_CITY)
    page.get_by_role("button", name="Ask", exact=True).click()
    picture = page.get_by_role("img", name=re.compile("^Bars of n by city"))
    picture.wait_for()
    widths = picture.locator("[aria-label=bar] rect").evaluate_all(
        "bars => bars.map(bar => Number(bar.getAttribute('width')))"
    )
    values = [row[1] for row in known(asked, BY_CITY)["rows"]]
    scale = widths[0] / values[0]
    assert widths == pytest.approx([scale * value for value in values], abs=0.5)
    bounds = known(asked, BY_CITY)["intervals"]["1"]
    # The second rule is the zero line.
    errors = (
        picture.locator("[aria-label=rule]")
        .first.locator("line")
        .evaluate_all(
            "lines => lines.map(line => line.getAttribute('x2') - line.getAttribute('x1'))"
        )
    )
    assert errors == pytest.approx(
        [scale * (high - low) for low, high in zip(bounds["low"], bounds["high"], strict=True)],
        abs=0.5,
    )


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT age, COUNT(*) FROM people GROUP BY age", "Lines"),
        ("SELECT city, member, AVG(spent) FROM people GROUP BY city, member", "Heat map"),
        (
            "SELECT member, QUANTILE_CONT(age, [0.1, 0.5, 0.9]) AS q FROM people GROUP BY member",
            None,
        ),
        (
            "SELECT bin(age, 8) AS a, QUANTILE_CONT(age, [.1, .5, .9]) AS q FROM people GROUP BY 1",
            "Bands",
        ),
        ("SELECT QUANTILE_CONT(age, [0.1, 0.5, 0.9]) AS q FROM people", "Points"),
        ("SELECT version, COUNT(*) FROM people GROUP BY version", "Bars"),
        ("SELECT COUNT(*) FROM people", None),
    ],
)
def test_what_fits_is_drawn(page, sql, kind):
    write(page, sql)
    page.keyboard.press("Control+Enter")
    page.locator(".answer table").wait_for()
    if kind is None:
        assert page.get_by_text("No picture:").count() == 1
        return
    for option in page.get_by_label("Picture").locator("option").all_text_contents():
        page.get_by_label("Picture").select_option(option)
        name = re.compile(f"^{option} of", re.IGNORECASE)
        page.get_by_role("img", name=name).wait_for()
    first = page.get_by_label("Picture").locator("option").first.text_content()
    assert first.capitalize() == kind
    assert page.evaluate("window.evil") is None


def test_a_refusal_shows_where_and_what_to_do(page):
    write(page, "SELECT agee FROM people\nWHERE age > 3")
    page.keyboard.press("Control+Enter")
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "people has no column 'agee'" in alert.text_content()
    assert "did you mean age?" in alert.text_content()
    assert alert.locator("pre").text_content() == "  SELECT agee FROM people\n         ^^^^"
    # What is wrong is selected, to be written anew.
    page.keyboard.insert_text("age")
    assert page.locator(".cm-line").first.text_content() == "SELECT age FROM people"


def test_a_link_asks_again_and_holds_no_token(person, page, asked):
    write(page, BY_CITY)
    page.get_by_label("Confidence").select_option("90 %")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".answer table").wait_for()
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.locator("#live").get_by_text("Link copied").wait_for(state="attached")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    assert asked[1] not in link
    again = person.open(link)
    enter(again, asked[1])
    again.locator(".answer table").wait_for()
    assert cells(again) == cells(page) == known(asked, BY_CITY, confidence=0.9)["texts"]
    # Back leads to the question before.
    write(again, "SELECT COUNT(*) FROM people")
    again.keyboard.press("Control+Enter")
    again.get_by_text("No picture: a row by itself").wait_for()
    again.go_back()
    again.get_by_role("img").wait_for()
    assert cells(again) == cells(page)
    # A token goes to the collector, in a header, and is nowhere else.
    assert all(request.url.startswith(asked[0]) for request in person.requests)
    assert not [r for r in person.requests if asked[1] in r.url + (r.post_data or "")]
    assert again.evaluate("Object.values(localStorage).join()").count(asked[1]) == 0


def test_a_link_of_somebody_else_asks_nothing_by_itself(person, asked):
    page = person.open(asked[0])
    enter(page, asked[1])
    page.get_by_role("button", name="Ask", exact=True).wait_for()
    page.evaluate("sql => { location.hash = `#ask?${new URLSearchParams({ sql })}`; }", BY_CITY)
    page.get_by_text("This question came with a link").wait_for()
    assert page.locator(".cm-content").text_content() == BY_CITY
    assert not [request for request in person.requests if request.url.endswith("/v1/query")]
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".answer table").wait_for()
    assert page.get_by_text("This question came with a link").count() == 0
    # Now it is known here.
    page.reload()
    page.locator(".answer table").wait_for()


def test_a_wrong_token_is_asked_for_again_and_none_is_no_answer(person, asked):
    page = person.open(asked[0])
    enter(page, "wrong")
    page.get_by_text("The collector does not know that token").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("give a token").wait_for()
    page.get_by_role("button", name="Try again").click()
    enter(page, asked[1])
    page.get_by_role("heading", name="Ask").wait_for()


def test_a_question_is_clicked_together(page, asked):
    page.get_by_label("What").select_option("Average of")
    page.get_by_label("of", exact=True).select_option("spent")
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("from").fill("20")
    page.get_by_label("to", exact=True).fill("39")
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("column").nth(1).select_option("city")
    page.get_by_label("O'Fallon").check()
    page.get_by_label("for each", exact=True).select_option("member")
    sql = "\n".join(page.locator(".cm-line").all_text_contents())
    assert sql == (
        "SELECT member, AVG(spent)\nFROM people\nWHERE age BETWEEN 20 AND 39\n"
        "  AND city = 'O''Fallon'\nGROUP BY member\nORDER BY 1"
    )
    page.get_by_role("button", name="Ask this").click()
    page.locator(".answer table").wait_for()
    assert cells(page) == known(asked, sql)["texts"]
    page.get_by_label("from").fill("twenty")
    page.get_by_text("twenty is no number").wait_for()


def test_what_is_written_is_completed(page):
    write(page, "")
    page.keyboard.type("SELECT ag")
    offered = page.locator(".cm-tooltip-autocomplete li")
    offered.get_by_text("age", exact=True).wait_for()
    page.wait_for_timeout(200)  # what is typed fast is no choice
    page.keyboard.press("Enter")
    page.keyboard.type(", COUNT(*) FROM people WHERE city = 'O")
    offered.get_by_text("'O''Fallon'").wait_for()
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    found = page.locator(".cm-content").text_content()
    assert found == "SELECT age, COUNT(*) FROM people WHERE city = 'O''Fallon'"


def test_asking_takes_the_completions_away(page):
    write(page, "")
    page.keyboard.type("SELECT COUNT(*) FROM people GROUP BY ag")
    offered = page.locator(".cm-tooltip-autocomplete")
    offered.wait_for()
    page.keyboard.press("Control+Enter")
    offered.wait_for(state="detached")


def test_questions_asked_before_come_back(page):
    for sql in (BY_CITY, "SELECT COUNT(*) FROM people"):
        write(page, sql)
        page.keyboard.press("Control+Enter")
        page.locator(".answer table").wait_for()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    assert page.locator(".cm-content").text_content() == BY_CITY
    page.get_by_text("Earlier questions").click()
    page.get_by_role("button", name="Forget them").click()
    page.get_by_text("No questions yet.").wait_for()


def test_answers_are_saved(page, asked):
    write(page, BY_CITY)
    page.keyboard.press("Control+Enter")
    page.get_by_role("img").wait_for()
    saved = {}
    for kind in ("CSV", "Parquet", "SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        saved[kind] = download.value.path().read_bytes()
        assert download.value.suggested_filename == f"answer.{kind.lower()}"
    expected = known(asked, BY_CITY)
    rows = list(csv.reader(io.StringIO(saved["CSV"].decode())))
    assert rows[0] == ["city", "n", "n_stderr", "n_low", "n_high"]
    assert [float(row[1]) for row in rows[1:]] == [row[1] for row in expected["rows"]]
    assert rows[-1][0] == "'=1+1"  # no formula
    table = pq.read_table(io.BytesIO(saved["Parquet"]))
    assert table.column("city").to_pylist() == list(CITIES)
    picture = saved["SVG"].decode()
    assert picture.startswith("<svg")
    assert "<img" not in picture
    assert "&lt;img" in picture
    assert saved["PNG"].startswith(b"\x89PNG")
    assert len(saved["PNG"]) > 5000


def test_a_question_that_takes_long_is_given_up(page):
    page.route("**/v1/query", lambda route: None)
    write(page, BY_CITY)
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Stop").click()
    page.locator(".answer:not([aria-busy])").wait_for(state="attached")
    page.unroute("**/v1/query")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".answer table").wait_for()


def test_the_plan_is_shown_when_it_is_wanted(page):
    write(page, BY_CITY)
    page.keyboard.press("Control+Enter")
    page.get_by_text("How it was answered").click()
    page.get_by_text("guarantee: 4-LDP").wait_for()


def test_nothing_is_wider_than_the_window_in_both_colours(page):
    write(page, "SELECT age, member, city, COUNT(*) FROM people GROUP BY ALL")
    page.keyboard.press("Control+Enter")
    page.locator(".answer table").wait_for()
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    colours = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


def test_the_policy_lets_no_markup_and_no_style_in(person, asked):
    person.context.add_init_script(WATCH)
    page = person.open(asked[0])
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>' } catch (error) { return error.name } }"
    )
    assert refused == "TypeError"
    page.evaluate("document.head.append(document.createElement('style'))")
    page.evaluate("document.head.lastChild.textContent = 'body { display: none }'")
    page.wait_for_function("violations.length >= 2")
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
