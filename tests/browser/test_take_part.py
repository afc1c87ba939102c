"""The demonstration device of the page: what it reads and draws is shown, and a report is all that
leaves."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from ldpsql.reports.report import question_shares

HAPPENED = "section[aria-label='What happened']"
REPORT = "#main table:has(caption:text-is('The report')) td:nth-child(3)"


def take_part(person, running, table="app"):
    page = person.open(f"{running.address}/#take-part?table={table}")
    page.wait_for_selector("#verdict:not(:empty)")
    return page


def answer(page, age="33", state="NY", version="1.2"):
    page.get_by_label("version may be sent in clear").check()
    page.get_by_label("How old are you?").fill(age)
    page.get_by_label("state").select_option(state)
    page.get_by_label("version (sent in clear)").fill(version)
    page.get_by_role("button", name="Answer").click()
    page.wait_for_selector(REPORT)
    return shown(page)


def shown(page):
    """The id and the digits of the report that is shown."""
    return [page.locator(REPORT).nth(place).inner_text() for place in (0, 1)]


def test_it_says_that_it_is_a_demonstration(person, running):
    page = take_part(person, running)
    assert "This is a demonstration." in page.get_by_role("note").inner_text()
    assert "counted in the survey like any other report" in page.get_by_role("note").inner_text()
    assert "By itself it has epsilon 1" in page.locator("dl.facts").inner_text()


def test_what_leaves_is_the_report_and_nothing_else(person, running):
    asked = []
    for own in ({"age": "77", "state": "NY"}, {"age": "-4", "state": "CA", "version": "2.0"}):
        page, start = take_part(person, running), len(person.requests)
        own_id, digits = answer(page, **own)
        if asked:  # the second person's
            page.get_by_role("button", name="Start over as another person").click()
            own_id, digits = answer(page, **own)
        page.get_by_role("button", name="Send the report").click()
        page.wait_for_selector("#sent")
        assert "1 report sent" in page.locator("#sent").inner_text()
        requests = person.requests[start:]
        [sent] = [request for request in requests if request.method != "GET"]
        open_value = own.get("version", "1.2")
        assert json.loads(sent.post_data) == {
            "id": own_id,
            "report": digits,
            "public": {"version": open_value},
        }
        assert set(sent.headers) <= {"accept", "content-type", "user-agent", "referer"} | {
            name for name in sent.headers if name.startswith("sec-")
        }
        asked.append([(request.method, request.url) for request in requests])
        kept = page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert kept == "[{},{}]"
        assert page.url == f"{running.address}/#take-part?table=app"
        page.close()
    assert asked[0] == asked[1]
    for request in person.requests:
        assert re.fullmatch(re.escape(running.address) + r"/[a-z0-9_./-]*(#.*)?", request.url)


def test_asked_again_the_same_report_is_sent(person, running):
    page = take_part(person, running)
    first = answer(page)
    page.get_by_label("How old are you?").fill("90")
    page.get_by_role("button", name="Ask again").click()
    page.wait_for_selector("#repeated")
    assert "the same report each time" in page.locator("#repeated").inner_text()
    assert "Nothing was read and nothing was drawn" in page.locator(HAPPENED).inner_text()
    assert shown(page) == first
    page.reload()
    page.wait_for_selector("#verdict:not(:empty)")
    assert answer(page, age="18", state="WA") == first
    page.get_by_role("button", name="Start over as another person").click()
    assert answer(page) != first


def test_it_shows_what_it_read_and_drew(person, running):
    page = take_part(person, running)
    answer(page, age="33", state="NY")
    rows = [row.split("\t") for row in page.locator(f"{HAPPENED} tbody tr").all_inner_texts()]
    assert ["age", "33", "33", "inside"] in rows
    assert ["state", "NY", "NY", "inside"] in rows
    [member] = [row for row in rows if row[0] == "member"]
    assert (member[1], member[3]) == ("nothing", "missing or outside")
    assert member[2] in ("false", "true")
    said = page.locator(HAPPENED).inner_text()
    assert re.search(r"number \d+ of \d+, numbered from 0, which is drawn with probability", said)
    assert re.search(r"The device drew number \d+", said)


def test_the_policy_is_asked_before_anything_is_read(person, running):
    page = take_part(person, running)
    page.get_by_role("button", name="Answer").click()
    refusal = page.get_by_role("alert")
    assert "sends version in clear, which the policy does not allow" in refusal.inner_text()
    assert "would not answer" in page.locator("#verdict").inner_text()
    page.get_by_label("version may be sent in clear").check()
    page.wait_for_function("document.querySelector('#verdict').className === 'allowed'")
    page.get_by_label("Largest epsilon of one report").fill("0.99")
    page.wait_for_function("document.querySelector('#verdict').className === 'error'")
    assert "asks for epsilon 1, and the policy allows 0.99" in page.inner_text("#verdict")
    page.get_by_role("button", name="Answer").click()
    page.wait_for_selector("[role=alert]:has-text('0.99')")
    assert not [request for request in person.requests if request.method != "GET"]


def test_offline_the_report_waits(person, running):
    page = take_part(person, running)
    answer(page)
    person.context.set_offline(True)
    page.get_by_role("button", name="Send the report").click()
    page.wait_for_selector("#sent")
    assert "1 report not taken by the collector yet" in page.locator("#sent").inner_text()
    person.context.set_offline(False)
    page.get_by_role("button", name="Send the report").click()
    page.wait_for_selector("#sent:has-text('1 report sent')")


@pytest.mark.parametrize("status", [410, 422])
def test_a_report_that_is_refused_is_not_said_to_be_taken(person, running, status):
    page = take_part(person, running)
    answer(page)
    page.route("**/reports", lambda route: route.fulfill(status=status, body="{}"))
    page.get_by_role("button", name="Send the report").click()
    page.wait_for_selector("#sent")
    assert page.locator("#sent").inner_text() == (
        "1 report refused by the collector for good; not to be sent again."
    )


@pytest.mark.parametrize("table", ["app", "odd"])
def test_reports_are_read_as_the_library_reads_them(person, running, table):
    page, plan = take_part(person, running, table), running.surveys[table].plan
    shares = page.evaluate(
        """async (table) => {
            const { Collector } = await import("./client/index.js");
            const { readReport } = await import("./demonstration.js");
            const survey = await new Collector(location.origin).survey(table);
            const digits = survey.plan.widths.map((width) => width / 4);
            return Array.from({ length: survey.plan.questions }, (_, question) => {
                const numbers = digits.map((count, i) => (i ? 0 : question));
                const report = numbers.map((n, i) => n.toString(16).padStart(digits[i], "0"));
                const line = JSON.stringify({ report: report.join("") });
                const { question: found, chance } = readReport(survey, line);
                return [found, chance];
            });
        }""",
        table,
    )
    assert [number for number, _ in shares] == list(range(len(shares)))
    np.testing.assert_allclose([share for _, share in shares], question_shares(plan), rtol=1e-12)
