"""Mechanisms compared on a table that may be looked at.

For evaluation only: it sees raw values, reports and estimates.
"""
