"""Parquet files that strangers wrote, read in a process of their own: `child` in it, `reader` here.

A small file may hold gigabytes, and pyarrow ends the whole process over some damaged ones.
"""

DAMAGED, TOO_LARGE = "damaged", "too large"
"""How an answer ends that cannot be given whole."""
EXCEEDED = 3
"""The exit code of a process that took too much memory or time."""
