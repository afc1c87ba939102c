"""Copies of pictures: small, of the same colours, and no more of them than are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.small_pictures import WIDTH, Shelf

Image = pytest.importorskip("PIL.Image")
LINES = ((0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0))


def test_a_copy_is_small_and_keeps_its_colours(tmp_path: Path) -> None:
    """Thin lines of different hues on white stay different."""
    picture = Image.new("RGB", (2 * WIDTH, 400), "white")
    for number, colour in enumerate(LINES):
        picture.paste(colour, (0, 40 * number, 2 * WIDTH, 40 * number + 6))
    picture.save(tmp_path / "lines.png")
    shelf = Shelf(tmp_path / "kept", "images/kept")
    assert list(shelf.shown(tmp_path / "lines.png", "Lines")) == [
        "![Lines](images/kept/lines.png)",
        "",
    ]
    with Image.open(tmp_path / "kept" / "lines.png") as opened:
        copy = opened.convert("RGB")
    assert copy.size == (WIDTH, 200)
    for number, colour in enumerate(LINES):
        found = copy.getpixel((WIDTH // 2, 20 * number + 1))
        assert max(abs(a - b) for a, b in zip(found, colour, strict=True)) < 12


def test_what_is_not_shown_goes(tmp_path: Path) -> None:
    """A picture that is not there is not shown, and an old copy does not stay."""
    (tmp_path / "old.png").write_bytes(b"")
    shelf = Shelf(tmp_path, "images")
    assert list(shelf.shown(tmp_path / "missing.png", "Nothing")) == []
    shelf.clear()
    assert not (tmp_path / "old.png").exists()
