"""Every citation of a specification leads to a section that is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CITATION = re.compile(r"docs/spec/([a-z0-9-]+)\.md#([0-9]+[a-z]?(?:\.[0-9]+)*)")


IN_WORDS = re.compile(
    r"specifications?('s)?:?\s+((h4mda|fourier|uldp|shuffle|rr-optimum)\b,?\s*)?"
    r"\(?(sections?\s+)?[0-9]"
    r"|specifications?('s)?[^.\n]{0,20},?\s+\(?sections?\s+[0-9]",
    re.IGNORECASE,
)
"""A citation that no reader can follow by a click, and no test can check."""


def sections() -> set[tuple[str, str]]:
    """(specification, section) of every anchor."""
    return {
        (path.stem, section)
        for path in (ROOT / "docs" / "spec").glob("*.md")
        for section in re.findall(r'<a id="([^"]+)">', path.read_text(encoding="utf-8"))
    }


def test_citations_are_links_to_sections_that_exist() -> None:
    known, cited = sections(), 0
    for folder in ("src", "tests", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for citation in CITATION.findall(text):
                assert citation in known, f"{path.relative_to(ROOT)} cites {citation}"
                cited += 1
            words = IN_WORDS.search(text)
            assert words is None, f"{path.relative_to(ROOT)}: {words[0]!r}"
    assert cited > 0


def test_sections_are_numbered_once() -> None:
    for path in (ROOT / "docs" / "spec").glob("*.md"):
        found = re.findall(r'<a id="([^"]+)">', path.read_text(encoding="utf-8"))
        assert len(found) == len(set(found)) > 0
