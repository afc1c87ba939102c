"""The golden answers of the engine: surveys for every mechanism, made-up people, and statements.

`tests/engine/golden/answers.sql` holds each statement once, beneath it the answer of each mechanism
that is asked it, every line with the mechanism's name before it. `tests/engine/test_golden.py`
writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from support.surveys import boolean, category, integer, measure, public, survey_toml

from ldpsql.designer import design
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError

GOLDEN = Path(__file__).parents[1] / "engine" / "golden"
ANSWERS = GOLDEN / "answers.sql"


def surveys(mechanism: str) -> Iterator[str]:
    """Survey files about app users, from the richest to what any mechanism takes."""
    kept = {"sensitive": ["NY"]} if MECHANISMS[mechanism].takes.sensitive else {}
    # The design of staircase takes long on many cells.
    age = integer("age", 18, 57, bin_width=8 if mechanism == "staircase" else 2)
    state = category("state", "CA", "NY", "WA", missing="code", **kept)
    day, pay = public("day", "date"), public("pay", "float")
    member = boolean("member")
    for accepted in ({}, {"accept_no_guarantee": True}):
        for columns in (
            (age, state, day, measure("pay", 0, 100)),
            (age, state, day, pay),
            (age, state),
            (state, day, pay),
            (member, day, pay),
        ):
            yield survey_toml(*columns, epsilon="2", mechanism=mechanism, **accepted)


def survey(mechanism: str) -> Survey:
    """The first of `surveys` that the mechanism takes.

    Which of equally good patterns staircase takes depends on the last digits of a processor's
    linear algebra, so its survey is kept.
    """
    kept = GOLDEN / f"{mechanism}.survey.json"
    if kept.exists():
        return Survey.from_json(kept)
    refusals = []
    for text in surveys(mechanism):
        try:
            return design(text)
        except SurveyError as error:
            refusals.append(str(error))
    raise AssertionError(refusals)


def table() -> pa.Table:
    """5,000 made-up users."""
    random = np.random.default_rng(8)
    states = ["CA", "NY", "WA", None]
    days = [date(2026, 3, 1) + timedelta(days=int(d)) for d in random.integers(0, 3, 5_000)]
    return pa.table(
        {
            "age": random.integers(18, 58, 5_000),
            "state": pa.array([states[i] for i in random.choice(4, 5_000, p=[0.4, 0.3, 0.2, 0.1])]),
            "pay": np.round(random.uniform(0, 100, 5_000), 1),
            "day": pa.array(days),
            "member": random.random(5_000) < 0.3,
        }
    )


def read_answers() -> dict[str, dict[str, str]]:
    """The answer of each mechanism to each statement that it is asked."""
    answers: dict[str, dict[str, str]] = {}
    for block in ANSWERS.read_text().strip().split("\n\n"):
        sql, *lines = block.splitlines()
        columns: dict[str, list[str]] = {}
        for line in lines:
            mechanism, _, text = line.partition("| ")
            columns.setdefault(mechanism.strip(), []).append(text)
        answers[sql] = {mechanism: "\n".join(text) for mechanism, text in columns.items()}
    return answers


def read_column(mechanism: str) -> dict[str, str]:
    """The statements that a mechanism is asked, each with its answer."""
    return {sql: found[mechanism] for sql, found in read_answers().items() if mechanism in found}


def write_column(mechanism: str, column: dict[str, str]) -> None:
    """Replace or add the answers of one mechanism."""
    answers = read_answers()
    for sql, text in column.items():
        answers.setdefault(sql, {})[mechanism] = text
    blocks = [
        "\n".join([sql, *(f"{name:<14}| {line}" for name, line in _lines_by_name(columns))])
        for sql, columns in answers.items()
    ]
    ANSWERS.write_text("\n\n".join(blocks) + "\n")


def _lines_by_name(columns: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, text in sorted(columns.items()):
        for line in text.splitlines():
            yield name, line
