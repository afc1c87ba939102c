"""What attackers learn from each mechanism: rates of reconstruction and re-identification."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow.parquet as pq

from benchmarks.field import ranges
from benchmarks.field.attacks import identify, reconstruct, weigh
from benchmarks.field.questions import Floats, Integers
from benchmarks.field.work import Table, counts_of
from benchmarks.figures.cases import Row
from benchmarks.figures.data import folder

ATTRIBUTES = (
    "age",
    "hours_per_week",
    "native_country",
    "education",
    "occupation",
    "marital_status",
)
PEOPLE, TARGETS, TOPS = 10_000, 500, (1, 10)


def reconstruction(name: str, table: Table, epsilon: str, people: int) -> Row:
    """From one report about a record of a table, for values that are equally likely, and as common
    as they are; `blind` is the rate without any report."""
    counts = counts_of(table, people)
    even, real = np.full(counts.size, 1 / counts.size), counts.ravel() / counts.sum()
    questions = ranges.questions(name, table, epsilon, people)
    found = reconstruct(questions, [even, real])
    return {
        "shape": table.shape,
        "table": table.name,
        "epsilon": epsilon,
        "name": name,
        "even": found[0],
        "even_blind": 1 / counts.size,
        "real": found[1],
        "real_blind": float(real.max()),
    }


@functools.cache
def records() -> Integers:
    """Codes of the attributes of some people, shape (PEOPLE, attributes): every value's place among
    the sorted values. FileNotFoundError where the table is not available."""
    place = folder()
    if place is None or not (place / "adult.parquet").exists():
        raise FileNotFoundError("adult.parquet")
    table = pq.read_table(place / "adult.parquet", columns=list(ATTRIBUTES))
    columns = []
    for name in ATTRIBUTES:
        values = np.array(table[name].to_pylist())
        columns.append(np.unique(values, return_inverse=True)[1].astype(np.int64))
    chosen = np.random.default_rng(42).choice(table.num_rows, PEOPLE, replace=False)
    return np.stack(columns, axis=1)[chosen]


def re_identification(
    name: str, epsilon: str, attributes: Sequence[str] = ATTRIBUTES
) -> Iterator[Row]:
    """After 2, 4 and 6 surveys, each of one more attribute with the whole budget."""
    people = records()
    random = np.random.default_rng([43, ranges.NAMES.index(name)])
    targets = random.choice(len(people), TARGETS, replace=False)
    scores: list[Floats] = []
    for number in range(len(attributes)):
        values = people[:, number]
        counts = np.bincount(values).astype(float)
        asked = ranges.questions_about(name, counts, epsilon, ranges.peer_of(name))
        scores.append(weigh(asked, values[targets], random))
        if (number + 1) % 2:
            continue
        for top in TOPS:
            hits = identify(people[:, : number + 1], targets, scores, top)
            yield {
                "epsilon": epsilon,
                "name": name,
                "surveys": number + 1,
                "top": top,
                "rate": float(hits.mean()),
                "stderr": float(hits.std(ddof=1)) / math.sqrt(TARGETS),
                "blind": top / len(people),
            }
