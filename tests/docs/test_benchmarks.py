"""The benchmarks page: twelve numbers and four pictures, and tables as data files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
DATA = PAGE.with_suffix("")
LINK = re.compile(r"^\[(.*)\]\(benchmarks/(.*)\): (\d+) rows?$", re.MULTILINE)


def sections():
    """The text under every heading, up to the next one, by the heading's anchor."""
    parts = re.split(r"^#+ (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    anchors = (re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in parts[1::2])
    return dict(zip(anchors, parts[2::2], strict=True))


def rows_of(name):
    """A table, its head first."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_every_number_stands_in_a_table_of_the_section_that_it_links_to():
    known = sections()
    rows = re.findall(r"^\| (.*) \| (.*) \| \[.*\]\(#(.*)\) \|$", known["in-twelve-numbers"], re.M)
    assert len(rows) == 12
    for what, figure, anchor in rows:
        cells = {
            word
            for _, name, _ in LINK.findall(known[anchor])
            for row in rows_of(name)
            for cell in row
            for word in re.split(r"[|, ]+", cell.replace(",", ""))
        }
        assert figure.removesuffix(" %").replace(",", "") in cells, (what, figure)


def test_four_pictures_stand_above_the_tables():
    assert len(re.findall(r"^!\[", sections()["in-twelve-numbers"], re.MULTILINE)) == 4


def test_every_other_table_is_a_data_file_that_the_page_links_to():
    known = sections()
    del known["in-twelve-numbers"]
    assert not [name for name, text in known.items() if re.search(r"^\|", text, re.MULTILINE)]
    links = LINK.findall("\n".join(known.values()))
    assert all(shown == name for shown, name, _ in links)
    assert sorted(name for _, name, _ in links) == sorted(file.name for file in DATA.iterdir())
    for _, name, count in links:
        head, *rows = rows_of(name)
        assert len(rows) == int(count)
        assert {len(row) for row in rows} == {len(head)}
