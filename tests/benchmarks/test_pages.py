"""The pages on the papers say what the stored results say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.figures import pages
from benchmarks.figures.__main__ import every
from benchmarks.figures.contents import CONTENTS
from benchmarks.figures.data import folder
from benchmarks.figures.papers import PAPERS, PARAMETERS, Entry, Paper
from benchmarks.figures.shuffle_marginals import WHOLE, people_of
from benchmarks.figures.verdicts import WORDS

FIGURES = [name for paper in PAPERS for name in paper.figures]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.slug)
def test_a_page_is_what_the_stored_results_say(paper: Paper) -> None:
    """Every verdict is judged anew; other words, or a figure that is not stored, fail."""
    assert (pages.DOCS / f"{paper.slug}.md").read_text("utf-8") == pages.text_of(paper)


def test_other_numbers_make_another_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: JuRR's errors ten times as large turn a verdict."""
    (paper,) = [paper for paper in PAPERS if paper.slug == "uldp"]
    before = pages.text_of(paper)
    stored = tmp_path / "stored"
    stored.mkdir()
    for name in paper.figures:
        found = pages.read(name)
        if name == "uldp-figure-3":
            rows = zip(found["columns"]["mechanism"], found["columns"]["error"], strict=True)
            found["columns"]["error"] = [e * 10 if m == "jurr" else e for m, e in rows]
        (stored / f"{name}.json").write_text(json.dumps(found))
    monkeypatch.setattr(pages, "STORED", stored)
    after = pages.text_of(paper)
    claim = "| CPRR is more accurate than JuRR at every epsilon | "
    assert f"{claim}**{WORDS[False]}**" in before
    assert after.count(f"{claim}{WORDS[True]}") == before.count(f"{claim}{WORDS[True]}") + 1


def test_every_figure_belongs_to_a_paper() -> None:
    """And every paper's figures are there, with pictures and the day they were measured."""
    assert set(FIGURES) == set(every())
    for name in FIGURES:
        found = pages.read(name)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
        assert found["pictures"]
        assert all((pages.pictures / f"{p}.png").exists() for p in found["pictures"])
        assert "stand-in" not in found["data"]


KINDS = {
    "Fig": "Figure",
    "Table": "Table",
    "Thm": "Theorem",
    "Theorem": "Theorem",
    "Lemma": "Lemma",
    "Corollary": "Corollary",
    "Alg": "Algorithm",
    "Definition": "Definition",
}
NUMBER = r"\d+(?!\d|\.\d)"
NUMBERS = rf"{NUMBER}(?:\s*[-–]\s*{NUMBER}|(?:\s*,\s*{NUMBER})*)"
OTHERS = re.compile(r"Balle|\bFMT\b|BBGN|CRYPTO")
"""Papers whose theorems the specifications cite, too."""


def quoted(text: str) -> set[str]:
    """What a specification says of figures, tables, theorems and the like of its paper."""
    found = set()
    pattern = rf"\b({'|'.join(KINDS)})[a-z]*\.? ({NUMBERS})"
    for line in text.splitlines():
        for kind, numbers in re.findall(pattern, "" if OTHERS.search(line) else line):
            parts = [int(number) for number in re.findall(r"\d+", numbers)]
            if re.search("[-–]", numbers):
                parts = list(range(parts[0], parts[-1] + 1))
            found |= {f"{KINDS[kind]} {number}" for number in parts}
    return found


def test_numbers_in_the_specifications_are_found() -> None:
    """Ranges, lists, short names; decimals are another paper's."""
    text = "Fig. 3–4 and Thm 1,4,7; Alg. 2, Table 2, 4.5. Lemma 3.5 fails, Figures 5-7 do not"
    assert quoted(text) == {
        *("Figure 3", "Figure 4", "Theorem 1", "Theorem 4", "Theorem 7", "Algorithm 2"),
        *("Table 2", "Figure 5", "Figure 6", "Figure 7"),
    }


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.slug)
def test_everything_the_paper_numbers_has_an_entry(paper: Paper) -> None:
    """The list holds what the specification quotes, and every entry what the list has."""
    contents = set(CONTENTS[paper.slug])
    text = (pages.DOCS.parent / "spec" / f"{paper.spec}.md").read_text("utf-8")
    assert quoted(text) <= contents
    covered = [number for entry in paper.entries for number in entry.covers]
    assert sorted(covered) == sorted(contents)


def test_a_missing_entry_is_noticed() -> None:
    """The negative control: a paper without its last entry, a list without its first table."""
    paper = PAPERS[0]
    fewer = [number for entry in paper.entries[:-1] for number in entry.covers]
    assert set(fewer) < set(CONTENTS[paper.slug])
    text = (pages.DOCS.parent / "spec" / f"{paper.spec}.md").read_text("utf-8")
    assert not quoted(text) <= set(CONTENTS[paper.slug]) - {"Table 2"}


def test_tests_that_show_something_are_there() -> None:
    named = [entry.shown_by for paper in PAPERS for entry in paper.entries if entry.shown_by]
    assert named
    for name in named:
        file, _, test = name.partition("::")
        assert f"def {test}(" in (pages.ROOT / file).read_text("utf-8"), name


def test_parameters_stand_beside_the_papers() -> None:
    """Of every figure; in the words of the page, or as the stored result has them."""
    assert set(PARAMETERS) == set(FIGURES)
    for name in FIGURES:
        known = pages.read(name)["parameters"]
        assert any(own in known for _, _, own in PARAMETERS[name]), name


@pytest.mark.parametrize(
    ("name", "attributes", "values"),
    [("bank_marketing, all attributes", 17, 12), ("adult, all attributes", 15, 41)],
)
def test_whole_tables_have_the_papers_sizes(name: str, attributes: int, values: int) -> None:
    """Table 1 of the shuffle paper."""
    assert len(WHOLE[name]) == attributes
    if folder() is None:
        pytest.skip("needs the real tables")
    sizes = people_of(name).domain.sizes
    assert (len(sizes), max(sizes)) == (attributes, values)


def test_stored_results_have_the_columns_that_are_measured() -> None:
    """A verdict without runs is one of exact values."""
    for name in FIGURES:
        columns = pages.read(name)["columns"]
        assert len({len(column) for column in columns.values()}) == 1


def test_an_entry_is_measured_or_says_why_not() -> None:
    with pytest.raises(ValueError, match="names its figure"):
        Entry("Figure 1", "measured", "errors")
    with pytest.raises(ValueError, match="names its figure"):
        replace(Entry("Figure 1", "not done", "errors"), figure="x")
    for paper in PAPERS:
        for entry in paper.entries:
            assert entry.note or entry.state in ("not done", "not known here"), entry
            if entry.state in ("reproduced", "refuted"):
                assert entry.shown_by, entry
