"""Moved to `ldpsql.simulation`."""

from ldpsql.simulation import SeededEntropy

__all__ = ["SeededEntropy"]
