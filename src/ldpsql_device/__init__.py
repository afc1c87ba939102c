"""Runs on the device: it encodes a record, draws a report, and remembers what was given.

It imports the standard library and numpy, and nothing of `ldpsql`, which depends on it.
"""
