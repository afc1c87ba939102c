"""Promises of pages have tests, and the page that names them names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS, TESTS = ROOT / "docs", ROOT / "tests"
PAGES = {"Privacy": "privacy.md", "Collecting": "collect.md", "Store": "store.md"}
WITHOUT = {
    # Sections that describe and promise nothing that could fail.
    *("Who sees what", "Which epsilon is common", "What is not protected", "What a cluster needs"),
}
_NAMED = re.compile(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?`|`(clients/[\w./]+|cli/sessions)`")


def read(name: str) -> str:
    """A page as one line without emphasis."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return " ".join(text.replace("**", "").split())


def rows(section: str) -> list[tuple[str, str]]:
    """The promises of a page, and what shows them."""
    _, _, text = (DOCS / "promises.md").read_text(encoding="utf-8").partition(f"## {section}\n")
    lines = text.partition("\n## ")[0].splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [(said, shown) for said, shown in cells[1:]]


def list_missing(shown: str) -> list[str]:
    """The tests of a cell that are not there; the cell itself where it names none."""
    found = _NAMED.findall(shown)
    missing = []
    for path, test, other in found:
        file = ROOT / other if other.startswith("clients/") else TESTS / (path or other)
        is_there = file.exists() and (
            not test or re.search(rf"^\s*def {test}\(", file.read_text(encoding="utf-8"), re.M)
        )
        missing += [] if is_there else [f"{path or other}::{test}"]
    return missing or ([] if found else [shown])


@pytest.mark.parametrize("section", PAGES)
def test_each_promise_stands_on_its_page_and_has_tests_that_are_there(section: str) -> None:
    text, promises = read(PAGES[section]), rows(section)
    assert len(promises) > 20
    for said, shown in promises:
        assert said.replace("**", "") in text, said
        assert list_missing(shown) == [], said
    assert len({said for said, _ in promises}) == len(promises)


@pytest.mark.parametrize("section", PAGES)
def test_no_section_of_a_page_is_left_out(section: str) -> None:
    page = (DOCS / PAGES[section]).read_text(encoding="utf-8")
    # Not what looks like a heading in an example.
    page = re.sub(
        r"^```.*?^```", lambda code: code[0].replace("\n#", "\n "), page, flags=re.S | re.M
    )
    parts = re.split(r"^##+ (.*)$", page, flags=re.M)
    promises = [said.replace("**", "") for said, _ in rows(section)]
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        flat = " ".join(text.replace("**", "").split())
        is_told = any(said in flat or said.lstrip("# ") in flat for said in promises)
        assert is_told or heading in WITHOUT or not flat, heading


@pytest.mark.parametrize("page", PAGES.values())
def test_the_page_leads_to_its_promises(page: str) -> None:
    assert "(promises.md)" in read(page)


def test_a_test_that_is_not_there_is_told() -> None:
    assert list_missing("`docs/test_promises.py::test_nothing`") == [
        "docs/test_promises.py::test_nothing"
    ]
    assert list_missing("`docs/test_other.py`") == ["docs/test_other.py::"]
    assert list_missing("nothing") == ["nothing"]
    assert list_missing("`docs/test_promises.py::list_missing`, `cli/sessions`") == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda p: p.name)
def test_tests_that_pages_name_are_there(page: Path) -> None:
    for path in re.findall(
        r"`(?:tests/)?((?:\w+/)+test_\w+\.py)`", page.read_text(encoding="utf-8")
    ):
        assert (TESTS / path).exists(), path
