"""The pages on the papers say what the stored results say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.figures import pages
from benchmarks.figures.__main__ import every
from benchmarks.figures.papers import PAPERS, Entry, Paper
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
        assert all((pages.PICTURES / f"{p}.png").exists() for p in found["pictures"])
        assert "stand-in" not in found["data"]


def test_stored_results_have_the_columns_that_are_measured() -> None:
    """A verdict without runs is one of exact values."""
    for name in FIGURES:
        columns = pages.read(name)["columns"]
        assert len({len(column) for column in columns.values()}) == 1


def test_an_entry_is_measured_or_says_why_not() -> None:
    with pytest.raises(ValueError, match="names its figure"):
        Entry("Figure 1", "errors", "measured")
    with pytest.raises(ValueError, match="names its figure"):
        replace(Entry("Figure 1", "errors", "not done"), figure="x")
    for paper in PAPERS:
        for entry in paper.entries:
            assert entry.note or entry.state in ("measured", "not done"), entry
