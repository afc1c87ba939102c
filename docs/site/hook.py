"""What the site adds to docs/: README and the changelog; links out of docs/ become names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """README and the changelog, with links as seen from docs/."""
    for source, target in _PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        text = _LINK.sub(lambda link: _seen_from_docs(*link.groups()), text)
        files.append(File.generated(config, target, content=text))
    files.append(File.generated(config, "tutorial.md", content=_tutorial()))
    return files


def _tutorial() -> str:
    """The notebook as a page."""
    notebook = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to what is no page become names; those to README and the changelog stay."""
    depth = page.file.src_uri.count("/")
    outside = "../" * (depth + 1)

    def change(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path.startswith(outside):
            known = path.endswith((".md", ".png", ".svg")) or not path or "://" in target
            return link[0] if known else text
        name = path.removeprefix(outside)
        if name in _PAGES:
            return f"{mark}[{text}]({'../' * depth}{_PAGES[name]}{'#' * bool(anchor)}{anchor})"
        return text

    return _LINK.sub(change, markdown)


def _seen_from_docs(mark: str, text: str, target: str) -> str:
    if "://" in target or target.startswith("#"):
        return f"{mark}[{text}]({target})"
    name = target.removeprefix("docs/")
    elsewhere = name if name != target else f"../{target}"
    return f"{mark}[{text}]({_PAGES.get(target, elsewhere)})"
