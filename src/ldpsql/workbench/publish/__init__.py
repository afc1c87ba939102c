"""Run by an analyst; sees answers, no report. Answers as ordinary tables, for programs that know
nothing of error bars.

    queries    a file of named queries, and their answers as tables with error bars as columns
    targets    the DuckDB file or folder of Parquet files that they are written to

Questions cost no privacy, so nothing limits how often or how many tables are written.
"""
