"""A survey of shuffled reports, and reports of it from made-up people."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
from support.surveys import ANYTHING

from ldpsql.randomize.table import randomize_batch
from ldpsql.survey import Survey
from ldpsql_device.schema import Schema
from ldpsql_device.shuffled import Shuffled
from ldpsql_lab.simulation import SeededEntropy

USERS = 1000
SCHEMA = Schema.from_keys(
    {"dimension": {"age": {"type": "int", "domain": [18, 41]}, "member": {"type": "bool"}}}
)


@cache
def shuffled_survey(users: int = USERS, table: str = "app") -> Survey:
    return Survey.of(table, SCHEMA, Shuffled.parse("1", "1e-6", users, "0.9"), "hio")


def raw_reports(survey: Survey, count: int) -> pa.Table:
    people = pa.table(
        {"age": [18 + i % 24 for i in range(count)], "member": [i % 3 == 0 for i in range(count)]}
    )
    return randomize_batch(survey, people, SeededEntropy(1), policy=ANYTHING)[0]
