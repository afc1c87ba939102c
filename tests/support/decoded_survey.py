"""A survey of which a store keeps decoded sums, by one public column, and reports of it."""

from __future__ import annotations

import pyarrow as pa
from support.surveys import boolean, integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.survey import Survey
from ldpsql_lab.simulation import SeededEntropy, accept_everything


def fourier(table: str = "app") -> Survey:
    """Ages from 0 to 8, members, and a public kind."""
    columns = (integer("age", 0, 8), boolean("member"), public("kind", "text"))
    return design(survey_toml(*columns, table=table, epsilon="2", mechanism="fourier"))


def reports(survey: Survey, size: int, seed: int) -> pa.Table:
    """Of people whose ages begin with the seed."""
    people = pa.table(
        {
            "age": [(seed + row) % 9 for row in range(size)],
            "member": [row % 3 == 0 for row in range(size)],
            "kind": [("a", "b", None)[row % 3] for row in range(size)],
        }
    )
    return randomize_batch(survey, people, SeededEntropy(seed), policy=accept_everything(survey))[0]
