"""Made-up shoppers, and statements to ask about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from support.noise_free import ExactBoxes, exact_survey, storing
from support.surveys import boolean, category, dimension, integer, measure, public, survey_toml

from ldpsql.designer.file import read_file
from ldpsql.engine.session import Session

ROOT = Path(__file__).parents[2]
STATEMENTS = ROOT / "tests" / "engine" / "statements.sql"
PEOPLE = 2_000

STATES = ("CA", "FL", "IL", "NY", "OR", "TX", "WA")
SEXES = ("Female", "Male", "Other")
SCHOOLS = ("High school", "College", "Bachelor", "Master", "Doctorate")
PLATFORMS = ("android", "ios", "web")

SURVEY = survey_toml(
    integer("age", 18, 90),
    integer("items", 0, 19),
    category("sex", *SEXES),
    category("state", *STATES, missing="code"),
    category("education", *SCHOOLS),
    boolean("member"),
    dimension("visited", "timestamp", range=["2026-01-01", "2026-04-01"], unit="day"),
    dimension("joined", "date", range=["2025-01-01", "2025-12-31"], unit="month"),
    measure("spend", 0, 200),
    *(public("platform", "text"), public("build", "int"), public("fee", "float")),
    *(public("tip", "float"), public("sent", "date")),
    table="shoppers",
)


def table_of(people: int) -> pa.Table:
    """Made-up shoppers."""
    random = np.random.default_rng(11)
    whole = {"age": (18, 91), "items": (0, 20), "build": (1, 6)}
    listed = {"sex": SEXES, "state": STATES, "education": SCHOOLS, "platform": PLATFORMS}
    columns = {name: pa.array(random.integers(*ends, people)) for name, ends in whole.items()}
    for name, values in listed.items():
        columns[name] = pa.array(values).take(pa.array(random.integers(0, len(values), people)))
    hidden = pa.array(random.random(people) < 0.1)
    columns["state"] = pc.if_else(hidden, None, columns["state"])
    seconds = random.integers(0, 90 * 86_400, people)
    days = random.integers(0, 365, people)
    cents = random.integers(0, 500, (2, people))
    return pa.table(
        {
            **columns,
            "member": random.random(people) < 0.4,
            "visited": [datetime(2026, 1, 1) + timedelta(seconds=int(s)) for s in seconds],
            "joined": [date(2025, 1, 1) + timedelta(days=int(d)) for d in days],
            "spend": random.gamma(2.0, 30.0, people),
            "fee": [None if each < 50 else each / 100 for each in cents[0].tolist()],
            "tip": [None if each < 50 else each / 100 for each in cents[1].tolist()],
            "sent": [date(2026, 3, 1) + timedelta(days=int(d) % 40) for d in days],
        }
    )


@contextmanager
def shoppers(people: int = PEOPLE) -> Iterator[Session]:
    """A session over reports of made-up shoppers, by a mechanism that answers about any columns
    together, with its noise switched off."""
    schema, table = read_file(SURVEY).schema, table_of(people)
    survey = exact_survey("shoppers", schema, table, ExactBoxes)
    with storing(survey, table) as store:
        yield Session(store)


def statements() -> dict[str, list[str]]:
    """Statements as analysts and their tools write them, by what becomes of them: `bars`, every
    estimate has its error bar; `exact`, answered from declared values or public columns alone;
    `bare`, a number has no error bar; `refused`."""
    parts = STATEMENTS.read_text(encoding="utf-8").split("-- ")[1:]
    return {
        kind: [line.removesuffix(";") for line in lines if line]
        for kind, *lines in (part.splitlines() for part in parts)
    }
