"""Pictures small enough to be kept beside the text that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from ldpsql.reports.atomic import replace_file

WIDTH, COLOURS = 1000, 128


class Shelf:
    """A folder of pictures next to a text; what the text does not show goes.

    folder: where they are kept.  link: how the text, which lies elsewhere, names the folder.
    """

    def __init__(self, folder: Path, link: str) -> None:
        self._folder, self._link = folder, link
        self._shown: set[str] = set()

    def shown(self, source: Path, words: str) -> Iterator[str]:
        """Lines of Markdown that show a small copy of a picture; none where there is no picture."""
        if not source.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with Image.open(source) as opened:
            picture = opened.convert("RGB")
        if picture.width > WIDTH:
            height = round(picture.height * WIDTH / picture.width)
            picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
        with replace_file(self._folder / source.name) as temporary:
            # An octree keeps apart the hues of thin lines, which a median cut would merge.
            few = picture.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            few.save(temporary, format="PNG", optimize=True)
        self._shown.add(source.name)
        yield f"![{words}]({self._link}/{source.name})"
        yield ""

    def clear(self) -> None:
        """Remove the pictures of earlier texts."""
        for path in self._folder.glob("*.png"):
            if path.name not in self._shown:
                path.unlink()
