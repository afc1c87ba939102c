"""Mechanisms compared on a table that may be looked at. Sees raw values, for evaluation only."""

from ldpsql.simulation import SeededEntropy, simulate

__all__ = ["SeededEntropy", "simulate"]
