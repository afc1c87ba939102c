"""Runs at the collector, `randomize` and `demo` apart. The command line.

One module per family of commands; `main` holds the entry point and the exit codes. Modules are
imported with the program, what they need (DuckDB, sqlglot, Arrow) only inside the commands, so
that a question is answered without loading what it does not use.
"""
