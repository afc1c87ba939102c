"""Mechanisms compared on a table that may be looked at: for evaluation only."""
