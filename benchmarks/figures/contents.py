"""What the four papers number: figures, tables, theorems and the like, as far as is known here.

The papers themselves are not part of this project. The list was taken from docs/spec, which quotes
them where it corrects them, and from a reader's notes on their figures and tables; where a number
is known, all numbers below it are on the list, too. A test holds the list to the specifications,
and `papers` to the list.
"""

from __future__ import annotations

from collections.abc import Mapping


def _numbered(**largest: int) -> tuple[str, ...]:
    return tuple(
        f"{kind} {number}" for kind, last in largest.items() for number in range(1, last + 1)
    )


CONTENTS: Mapping[str, tuple[str, ...]] = {
    "h4mda": _numbered(Figure=7, Table=3, Theorem=14, Algorithm=4),
    "uldp": _numbered(Figure=7, Definition=3, Corollary=2, Algorithm=4),
    "shuffle": _numbered(Figure=6, Table=4, Theorem=9, Lemma=1),
    "optimal-response": _numbered(Figure=8),
}
"""By the papers' slugs."""
