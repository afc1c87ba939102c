"""The page for everybody: on narrow and wide screens, in the dark, by keyboard, with odd texts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.browser import MARKUP, visit

READY = {
    "ask": ".cm-content",
    "survey": "section[aria-labelledby=errors-title] tbody tr",
    "take-part": "#verdict:not(:empty)",
}
FAINT = """() => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const bytes = (colour) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (colour) => {
        const straight = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = bytes(colour).map((byte) => straight(byte / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (bytes(colour)[3]) return colour;
        }
        return "white";
    };
    const hasText = (node) => [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    const shown = [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility());
    return shown.filter(hasText).map((node) => {
        const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 90)];
    }).filter(([contrast]) => contrast < 4.5);
}"""


def show(person, running, view, table="odd"):
    person.context.add_init_script(f"sessionStorage.setItem('ldpsql.token', '{running.token}')")
    page = person.open(f"{running.address}/#{view}?table={table}")
    page.wait_for_selector(READY[view])
    return page


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_fits_and_can_be_read(chromium, running, width, scheme):
    size = {"width": width, "height": 900}
    with visit(chromium, viewport=size, color_scheme=scheme) as person:
        for view in READY:
            page = show(person, running, view)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(FAINT) == []
            # The measure itself: a text in the ground's own colour is found.
            page.evaluate("document.querySelector('h1').style.color = 'var(--ground)'")
            assert len(page.evaluate(FAINT)) == 1
            page.close()


@pytest.mark.parametrize("view", ["survey", "take-part"])
def test_texts_of_a_survey_are_no_markup(person, running, view):
    page = show(person, running, view)
    if view == "take-part":
        page.get_by_label("amount may be sent in clear").check()
        page.get_by_label("Which").select_option(MARKUP)
        page.get_by_role("button", name="Answer").click()
        page.wait_for_selector("text=What it drew")
    assert MARKUP in page.locator("#main").inner_text()
    assert page.locator("#main img").count() == 0
    assert "ldpsql" in page.title()


@pytest.mark.parametrize("view", READY)
def test_everything_has_a_name_and_a_place(person, running, view):
    page = show(person, running, view)
    nameless = (
        "[...document.querySelectorAll('input, select, textarea')].filter((f) => !f.labels.length)"
    )
    assert page.evaluate(f"{nameless}.map((field) => field.outerHTML)") == []
    identical = "[...document.querySelectorAll('[id]')].map(({ id }) => id)"
    ids = page.evaluate(identical)
    assert len(ids) == len(set(ids))
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for role in ("main", "navigation", "banner"):
        assert page.get_by_role(role).count() == 1


def test_one_can_take_part_by_keyboard_alone(person, running):
    page = show(person, running, "take-part", "app")

    def tab_to(selector):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("(own) => document.activeElement.matches(own)", selector):
                return
        raise AssertionError(f"no way to {selector}")

    tab_to("#open-0")
    page.keyboard.press("Space")
    tab_to("#column-age")
    page.keyboard.type("44")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=What it drew")
    assert "The device has drawn a report." in page.locator("#live").inner_text()
    tab_to("section button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#repeated")
    # What was pressed is gone, and the focus is where one goes on.
    assert page.evaluate("document.activeElement.textContent") == "Ask again"
    tab_to("section button.primary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sent:has-text('1 report sent')")
