"""Mechanisms.md has a row for every mechanism, with its options; sizes in fourier.md are true."""

from __future__ import annotations

import gzip
import re
from dataclasses import fields
from pathlib import Path

import pytest

from ldpsql.designer import design
from ldpsql.mechanisms.registry import MECHANISMS

DOCS = Path(__file__).parents[2] / "docs"


def rows(page: str, columns: int) -> list[list[str]]:
    """The cells of all table rows of a page that have so many columns."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if len(row) == columns]


def test_every_mechanism_has_a_row_with_its_options() -> None:
    documented: dict[str, str] = {}
    for names, *_, options, _ in rows("mechanisms.md", 5):
        for name in re.findall(r"`([a-z-]+)`", names):
            documented.setdefault(name, options)
    for name, recipe in MECHANISMS.items():
        options = documented[name]
        for other in re.findall(r"as `([a-z-]+)`", options):
            options += documented[other]
            options += " ".join(documented[o] for o in re.findall(r"as `(.*?)`", documented[other]))
        for option in fields(recipe.options):
            assert f"`{option.name}`" in options, f"{name} has an option {option.name}"


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("row", "sizes"),
    [
        ("64 values", [64]),
        ("64 x 64", [64, 64]),
        ("32 x 32 x 32", [32] * 3),
        ("ten of 8 values", [8] * 10),
    ],
)
def test_fourier_surveys_are_as_large_as_the_page_says(row: str, sizes: list[int]) -> None:
    (_, predicates, questions, stated, compressed) = next(
        cells for cells in rows("fourier.md", 5) if cells[0].lstrip("| ") == row
    )
    dimensions = "".join(
        f'[dimension.d{number}]\ntype = "int"\ndomain = [0, {size - 1}]\n'
        for number, size in enumerate(sizes)
    )
    survey = design(
        '[survey]\ntable = "p"\nepsilon = "1"\nmechanism = "fourier"\n'
        f"[workload]\nmax_predicates = {predicates}\n{dimensions}"
    )
    text = survey.device_text.encode()
    assert len(survey.design.report_format.limits) == int(questions.replace(",", ""))
    for size, shown in ((len(text), stated), (len(gzip.compress(text, 9)), compressed)):
        assert size / 1000 == pytest.approx(float(shown.split()[0]), rel=0.03)
