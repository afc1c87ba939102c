"""Golden files of rows, under each of which stands, indented, what is made of it."""

from __future__ import annotations

from collections.abc import Callable


def answered(text: str, answer: Callable[[str], str]) -> str:
    """The rows of a file, each with its answer of now; lines that start with # stay as they are."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("  "):
            lines.append(line)
            if not line.startswith("#"):
                lines.append(f"  {answer(line)}")
    return "\n".join(lines) + "\n"
