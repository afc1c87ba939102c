"""The client in a page: what it keeps, what leaves, and when."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

import pytest

RECORD = {"age": 33, "state": "NY", "member": True, "version": "1.2", "diary": "nobody reads this"}
ANSWER = "record => app.answer(record)"


@contextmanager
def comes(running, *, counted, repeats=0):
    """What the collector gets of the survey within: so many reports, so many of them again."""
    before = counts(running)
    yield
    expected, until = (before[0] + counted, before[1] + repeats), time.monotonic() + 60
    while counts(running) != expected and time.monotonic() < until:
        time.sleep(0.05)
    assert counts(running) == expected


def counts(running):
    found = running.counts()
    return tuple(
        found.get(f'{{survey="app",result="{what}"}}', 0) for what in ("counted", "repeats")
    )


def visit(person, running):
    page = person.open(running.site)
    assert page.evaluate("address => app.open(address, 'app')", running.address) == ""
    return page


def test_asked_again_the_same_report_is_given(person, running):
    page = visit(person, running)
    line = page.evaluate(ANSWER, RECORD)
    assert page.evaluate(ANSWER, {**RECORD, "age": 90}) == line
    page.reload()
    assert page.evaluate("address => app.open(address, 'app')", running.address) == ""
    assert page.evaluate(ANSWER, RECORD) == line
    other = visit(person, running)
    assert other.evaluate(ANSWER, RECORD) == line
    assert other.evaluate("record => app.forgetfully(record)", RECORD) != line


def test_two_pages_at_once_give_one_report(person, running):
    pages = [visit(person, running) for _ in range(2)]
    for page in pages:  # neither waits for the other
        page.evaluate("record => { lines = [1, 2, 3, 4].map(() => app.answer(record)) }", RECORD)
    lines = [line for page in pages for line in page.evaluate("() => Promise.all(lines)")]
    assert len(lines) == 8
    assert len(set(lines)) == 1


def test_what_leaves_is_a_report_that_is_counted_once(person, running):
    page = visit(person, running)
    line = page.evaluate(ANSWER, RECORD)
    with comes(running, counted=1):
        assert page.evaluate("() => app.send()") == {"settled": 1, "refused": 0, "waiting": 0}
        assert page.evaluate("() => app.send()") == {"settled": 0, "refused": 0, "waiting": 0}
    sent = [request for request in person.requests if request.method not in ("GET", "OPTIONS")]
    assert [request.post_data for request in sent] == [f"{line}\n"]
    assert json.loads(line)["public"] == {"version": "1.2"}


@pytest.mark.parametrize("leave", ["close", "another page"])
def test_a_page_that_closes_hands_its_report_over_and_it_counts_once(person, running, leave):
    page = visit(person, running)
    person.context.set_offline(True)
    page.evaluate(ANSWER, RECORD)
    assert page.evaluate("() => app.send()") == {"settled": 0, "refused": 0, "waiting": 1}
    person.context.set_offline(False)
    with comes(running, counted=1):
        if leave == "close":
            page.close(run_before_unload=True)
        else:
            page.goto("about:blank")
    # Nobody heard that it was taken, so it is sent again.
    with comes(running, counted=0, repeats=1):
        assert visit(person, running).evaluate("() => app.send()") == {
            "settled": 1,
            "refused": 0,
            "waiting": 0,
        }


def test_offline_it_is_answered_and_sent_later(person, running):
    page = visit(person, running)
    person.context.set_offline(True)
    with comes(running, counted=0):
        line = page.evaluate(ANSWER, RECORD)
        assert page.evaluate("() => app.send()") == {"settled": 0, "refused": 0, "waiting": 1}
        page.close()
    person.context.set_offline(False)
    again = visit(person, running)
    with comes(running, counted=1):
        assert again.evaluate("() => app.send()") == {"settled": 1, "refused": 0, "waiting": 0}
    assert again.evaluate(ANSWER, RECORD) == line


def weaken(data):
    """It promises less than its plan tells."""
    data["promise"]["epsilon"] = "0.1"


def relabel(data):
    """A survey that is sound, and another one than the collector names."""
    data["label"] = "another"


def add(data):
    """A key that nobody knows."""
    data["more"] = 1


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (weaken, "plan must tell no more than is promised"),
        (relabel, "is another one than the collector names"),
        (add, "more"),
    ],
)
def test_a_tampered_survey_is_refused(person, running, tamper, problem):
    def hand_out(route):
        data = json.loads(route.fetch().text())
        tamper(data)
        route.fulfill(json=data, headers={"access-control-allow-origin": "*"})

    page = person.open(running.site)
    page.route("**/v1/surveys/*", hand_out)
    found = page.evaluate("address => app.open(address, 'app')", running.address)
    assert found.startswith("survey: ")
    assert problem in found
    assert not [request for request in person.requests if request.method == "POST"]
