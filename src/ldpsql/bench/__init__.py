"""Mechanisms compared on a table that may be looked at. Sees raw values, for evaluation only."""
