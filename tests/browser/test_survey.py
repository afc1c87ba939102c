"""What the page says of a survey: what is promised, how well it answers, what came in."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from ldpsql.survey import Survey
from ldpsql_device.statement import Statement
from ldpsql_device.survey import canonical, sha256, utc_today

CAME = "section[aria-labelledby=came-title]"
ERRORS = "section[aria-labelledby=errors-title]"


def look(person, running, table="app", *, token=False):
    if token:
        person.context.add_init_script(f"sessionStorage.setItem('ldpsql.token', '{running.token}')")
    page = person.open(f"{running.address}/#survey?table={table}")
    page.wait_for_selector(f"{ERRORS} tbody tr")
    return page


def rows(page, place):
    return [row.split("\t") for row in page.locator(f"{place} tbody tr").all_inner_texts()]


def test_it_says_what_is_asked_and_checks_the_promise(person, running):
    page = look(person, running)
    said = page.locator("#main").inner_text()
    assert 'age "How old are you?" (one of 73 bins of [18, 90])' in said
    assert running.surveys["app"].fingerprint in said
    assert "epsilon 1, and 1 is promised" in said
    assert "more than 2.71829 times as likely" in said
    assert "ldpsql audit app.survey.json --html app.audit.html" in said
    assert "Nobody has signed it" in said
    said = look(person, running, "odd").locator("#main").inner_text()
    assert f"Its signature is that of the owner of the key {running.surveys['odd'].author}." in said
    assert "The owner has not said that it is the one asked now" in said


def test_it_says_what_the_statement_that_it_is_asked_is_worth(person, running):
    survey, today = running.surveys["odd"], utc_today()
    week, refuses = timedelta(7), "so apps that name authors refuse it"

    def sign(issued, until, about=survey):
        return Statement.sign(about, running.key, issued=issued, until=until).text

    def hand_out(text):
        person.context.route("**/v1/tables/odd", lambda route: route.fulfill(body=text))

    holding = sign(today - week, today + week)
    other = Survey.of("others", survey.schema, "1", "hgrr").sign(running.key)
    about_other = json.loads(sign(today, today + week, other))
    moved = {**about_other, "fingerprint": survey.fingerprint}
    for text, words in (
        (holding, f"the one asked from {today - week} to {today + week}."),
        (sign(today - 2 * week, today - week), f"; today is {today}, {refuses}"),
        (sign(today + week, today + 2 * week), f"; today is {today}, {refuses}"),
        (json.dumps(moved), f"is about another survey, {refuses}"),
        (holding.replace(f"{today + week}", f"{today + 2 * week}"), "is not the owner's, or "),
    ):
        hand_out(text)
        said = look(person, running, "odd").locator("#main").inner_text()
        assert words in said
        assert (refuses in said) == (text != holding)


def test_expected_errors_are_the_forecast_for_as_many_reports_as_one_says(person, running):
    page = look(person, running)
    fingerprint = running.surveys["app"].fingerprint
    forecast = running.ask(f"/v1/surveys/{fingerprint}/forecast").json
    people, first = forecast["people"], forecast["kinds"][0]

    def check(reports, wanted):
        page.get_by_role("spinbutton", name="Reports").fill(str(reports))
        page.get_by_role("spinbutton", name="Wanted precision").fill(str(wanted))
        page.wait_for_selector(f"{ERRORS} th:has-text('for ± {wanted} %')")
        text, half, share, needed, missing, limit = rows(page, ERRORS)[0]
        number = {
            name: float(shown.split(" %")[0].replace(",", ""))
            for name, shown in {"half": half, "share": share, "needed": needed}.items()
        }
        assert (text, limit) == ("people with a range of age", first["limit"])
        ratio = reports / people
        assert number["half"] == pytest.approx(first["half_width"] * ratio**0.5, rel=0.006)
        assert number["share"] == pytest.approx(100 * first["share"] / ratio**0.5, rel=0.06)
        exact = people * (100 * first["share"] / wanted) ** 2
        assert exact <= number["needed"] <= 1.01 * exact + 1
        more = number["needed"] - reports
        assert missing == (f"{more:,.0f}" if more > 0 else "none")

    check(people, 1)
    check(4 * people, 0.5)
    check(1234, 5)


def test_nonsense_is_said(person, running):
    page = look(person, running)
    page.get_by_role("spinbutton", name="Reports").fill("0")
    page.wait_for_selector(f"{ERRORS} .error")


def test_without_a_token_nothing_of_reports_is_asked(person, running):
    page = look(person, running)
    assert not [request for request in person.requests if "arrivals" in request.url]
    page.get_by_role("button", name="Show what came in").click()
    page.get_by_role("textbox", name="Token").fill(running.token)
    page.get_by_role("button", name="Use it").click()
    page.wait_for_selector(f"{CAME} strong")
    assert "reports." in page.locator(CAME).inner_text()


def test_reports_are_shown_by_day_with_signs_of_forgery(person, running):
    said = {
        "reports": 800,
        "days": [{"day": "2026-01-31", "reports": 300}, {"day": None, "reports": 500}],
        "spread": {"groups": 9, "chi_square": 99.0, "degrees": 8, "score": 7.7, "suspicious": 6},
        "signs": ["app: <b>reports</b> are not spread"],
    }
    person.context.route("**/arrivals", lambda route: route.fulfill(body=json.dumps(said)))
    page = look(person, running, token=True)
    page.wait_for_selector(f"{CAME} svg rect")
    assert rows(page, CAME) == [["2026-01-31", "300"], ["from files", "500"]]
    assert page.locator(f"{CAME} svg rect").count() == 2
    assert "7.7 standard deviations above" in page.locator(CAME).inner_text()
    assert page.locator(f"{CAME} .error").inner_text() == "app: <b>reports</b> are not spread."
    assert page.get_by_role("spinbutton", name="Reports").input_value() == "800"


def test_a_survey_that_is_tampered_with_is_not_shown(person, running):
    def hand_out(route):
        data = json.loads(route.fetch().text())
        data["promise"]["epsilon"] = "0.5"
        route.fulfill(json=data)

    person.context.route(f"**/v1/surveys/{running.surveys['app'].fingerprint}", hand_out)
    for view in ("survey", "take-part"):
        page = person.open(f"{running.address}/#{view}?table=app")
        page.wait_for_selector("[role=alert]")
        assert "must tell no more than is promised" in page.get_by_role("alert").inner_text()
        assert page.get_by_role("button", name="Answer").count() == 0


def test_the_signature_of_the_author_is_checked(person, running):
    survey = running.surveys["odd"]
    page = look(person, running, "odd")
    assert f"the owner of the key {survey.author}." in page.locator("dl.facts").inner_text()

    data = json.loads(survey.device_text)
    first = "1" if data["signature"][0] == "0" else "0"
    forged = canonical({**data, "signature": first + data["signature"][1:]})
    said = {"fingerprint": sha256(forged)}
    person.context.route("**/v1/tables/odd", lambda route: route.fulfill(json=said))
    place = f"**/v1/surveys/{said['fingerprint']}"
    person.context.route(place, lambda route: route.fulfill(body=forged))
    page = person.open(f"{running.address}/#survey?table=odd")
    page.wait_for_selector("[role=alert]")
    assert "signature must be its author's" in page.get_by_role("alert").first.inner_text()
    page = person.open(f"{running.address}/#take-part?table=odd")
    page.get_by_label("amount may be sent in clear").check()
    page.get_by_role("button", name="Answer").click()
    page.wait_for_selector("section [role=alert]:has-text('no signature of its author')")
    assert not [request for request in person.requests if request.method != "GET"]
