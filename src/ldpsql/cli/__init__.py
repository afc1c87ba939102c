"""Runs at the collector, `randomize` and `demo` apart. The command line."""
