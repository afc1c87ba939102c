"""Run by an analyst; sees answers, no report. Answers as ordinary tables, for programs that know
nothing of error bars.

    tables    which tables there are, and what is in them
    duckdb, folder, postgresql    where they go: each replaces what it wrote before, whole

Questions cost no privacy, so nothing limits how often or how many tables are written.
"""
