"""Other projects on common work: `python -m benchmarks.peers`.

Everybody gets the same people and the same questions, over the same number of codes. A peer is a
command, run as

    COMMAND FOLDER

It reads from FOLDER `task.json` ({"epsilon": 1.0, "sizes": [64, 64], "seed": 0}), `codes.parquet`
(a row per person, integer columns c0, c1, ...: one code per dimension, from 0) and
`queries.parquet` (a row per question, integer columns lo0, hi0, lo1, hi1, ...: how many people
have lo <= code < hi in every dimension), and writes `answers.parquet` with a float column `share`:
the estimated share of the people, one row per question in order. A peer that cannot do a task ends
with code 3 and says why in one line on stderr.

`--peer NAME=COMMAND` takes another one along. The adapters in `adapters/` are for packages of
PyPI, which need libraries of their own: install them into a virtual environment of their own, and
name its Python in LDPSQL_PEERS_PYTHON. What is not installed is skipped, and the table says so.
"""
