"""Moved to `ldpsql.simulation`."""

from ldpsql.simulation import Spent, collect, simulate

__all__ = ["Spent", "collect", "simulate"]
