"""Public. Sees parameters. What shuffling reports is worth: the accountant of the shuffle model."""

from __future__ import annotations

from ldpsql.shuffle.accountant import delta_of, keeps
from ldpsql.shuffle.blanket import (
    UNEVEN,
    Atom,
    Blanket,
    Response,
    clones,
    hot_cells,
    merged,
    randomized_response,
    responses,
    unary,
)
from ldpsql.shuffle.inverse import epsilon_of_batch, largest_local, largest_local_of_any

__all__ = [
    "UNEVEN",
    "Atom",
    "Blanket",
    "Response",
    "clones",
    "delta_of",
    "epsilon_of_batch",
    "hot_cells",
    "keeps",
    "largest_local",
    "largest_local_of_any",
    "merged",
    "randomized_response",
    "responses",
    "unary",
]
