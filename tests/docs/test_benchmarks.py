"""The twelve numbers on top of the benchmarks are those of the tables below."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def sections():
    """The text under every heading, up to the next one, by the heading's anchor."""
    parts = re.split(r"^#+ (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    anchors = (re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in parts[1::2])
    return dict(zip(anchors, parts[2::2], strict=True))


def test_every_number_stands_in_the_table_that_it_links_to():
    known = sections()
    rows = re.findall(r"^\| (.*) \| (.*) \| \[.*\]\(#(.*)\) \|$", known["in-twelve-numbers"], re.M)
    assert len(rows) == 12
    for what, figure, anchor in rows:
        cells = {
            word
            for line in known[anchor].splitlines()
            if line.startswith("|")
            for word in re.split(r"[|, *]+", line.replace(",", ""))
        }
        assert figure.removesuffix(" %").replace(",", "") in cells, (what, figure)


def test_four_pictures_stand_above_the_tables():
    assert len(re.findall(r"^!\[", sections()["in-twelve-numbers"], re.MULTILINE)) == 4
