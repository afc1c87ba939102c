"""This project and published mechanisms in one table, on common work: `python -m benchmarks.field`.

Peers are written anew from their papers' descriptions, or are their authors' own programs, run
beside this project (`LDPSQL_FIELD_CODE`); docs/field.md says which, and what could not be had.
"""
