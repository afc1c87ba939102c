"""Hierarchical trees: levels, covers, cells."""
