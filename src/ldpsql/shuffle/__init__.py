"""The accountant of the shuffle model: what shuffling reports is worth.

Run by whoever designs or audits a survey; sees parameters only.
"""

from __future__ import annotations

from ldpsql.shuffle.accountant import (
    UNEVEN,
    Atom,
    Blanket,
    clones,
    delta_of,
    epsilon_of_batch,
    keeps,
    largest_local,
    largest_local_of_any,
    merge_atoms,
    unary,
)

__all__ = [
    "UNEVEN",
    "Atom",
    "Blanket",
    "clones",
    "delta_of",
    "epsilon_of_batch",
    "keeps",
    "largest_local",
    "largest_local_of_any",
    "merge_atoms",
    "unary",
]
