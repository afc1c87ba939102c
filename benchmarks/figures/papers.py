"""The papers: their figures, tables and numbered claims, and what became of each here.

An entry names the figure of this package that measures it, or says by words and evidence what is
known without one. `contents` lists what there must be entries of; what could not be done says so.
`PARAMETERS` puts what was measured beside what the papers did. Both are read from papers.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal[
    "measured", "reproduced", "refuted", "not reproducible", "not done", "not known here"
]
UNKNOWN = "not known here"


@dataclass(frozen=True)
class Entry:
    """A figure, table or claim, or several.

    covers: its numbers, as `contents` has them.  number: as a reader finds it.  figure: of this
    package, or nothing.  note: what differs from the paper, or the evidence.  shown_by: a test,
    as file::function.
    """

    number: str
    state: State
    what: str = ""
    note: str = ""
    figure: str = ""
    covers: tuple[str, ...] = ()
    shown_by: str = ""

    def __post_init__(self) -> None:
        if (self.state == "measured") != bool(self.figure):
            raise ValueError(f"{self.number}: what is measured names its figure, and nothing else")


@dataclass(frozen=True)
class Paper:
    """One page. slug: its file's name.  reference: where it appeared.  spec: the specification."""

    slug: str
    title: str
    reference: str
    spec: str
    entries: Sequence[Entry]

    @property
    def figures(self) -> list[str]:
        """The figures of this package that its entries name, each once."""
        return list(dict.fromkeys(entry.figure for entry in self.entries if entry.figure))


def _read() -> tuple[tuple[Paper, ...], Mapping[str, tuple[Compared, ...]]]:
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    papers = []
    for paper in found["papers"]:
        entries = [
            Entry(**{**entry, "covers": tuple(entry.get("covers", ()))})
            for entry in paper.pop("entries")
        ]
        papers.append(Paper(**paper, entries=tuple(entries)))
    parameters = {name: tuple(map(tuple, own)) for name, own in found["parameters"].items()}
    return tuple(papers), parameters


Compared = tuple[str, str, str]
"""What is set, what the paper has, and what it is here: a parameter of the figure, or in words."""
PAPERS, PARAMETERS = _read()
"""The pages; and the parameters of every figure, side by side with the paper's."""
