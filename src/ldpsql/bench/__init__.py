"""Sees raw values and reports, for evaluation only: the one place where they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpsql.bench.entropy import SeededEntropy

if TYPE_CHECKING:
    from ldpsql.bench.simulation import simulate

__all__ = ["SeededEntropy", "simulate"]


def __getattr__(name: str) -> Any:
    """`simulate` loads a database; seeded entropy alone does not need one."""
    if name != "simulate":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ldpsql.bench.simulation import simulate  # noqa: PLC0415

    return simulate
