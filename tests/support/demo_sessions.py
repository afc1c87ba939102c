"""A demonstration that is not on a terminal, for tests of what it says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from ldpsql.designer import auto
from ldpsql.mechanisms.registry import mechanism
from ldpsql.terminal.progress import Progress


def quiet(work: str) -> Progress:
    return Progress(work, StringIO())


def run_demo(run: Callable[..., int], folder: Path, people: int) -> tuple[int, list[str]]:
    """Intervals that missed, and the printed lines; `auto` compares some mechanisms only, and
    nothing is left in the folder of temporary files."""
    lines = list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        some = {name: mechanism(name) for name in ("fourier", "hgrr")}
        patch.setattr(auto, "MECHANISMS", some)
        missed = run(lines.append, people=people, port=0, stays=False, progress=quiet)
    assert str(folder) in "\n".join(lines)
    assert list(folder.glob("ldpsql-demo-*")) == []
    return missed, "\n".join(lines).splitlines()
