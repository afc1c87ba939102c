"""A survey of a made-up mechanism, whose reports can be any rows within given limits."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from support.partial_designs import PartialDesign, PartialRecipe

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.randomize.table import append_ids
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS, Arcs, Bits, Digit, Face, Part, Plan, Response, Term
from ldpsql_device.schema import Dimension, PublicColumn, Schema
from ldpsql_device.values import int_domain

PLAIN = {"limits": [[5, 3], [1, 2], [300, 8]]}
UNARY = {"bits": [40, 20, 64]}
PUBLIC = (
    PublicColumn("day", "date"),
    PublicColumn("amount", "float"),
    PublicColumn("group", "int"),
)


def _part(radix: int, response: Response) -> Part:
    """A part whose answers are those to a symbol below a radix."""
    return Part((Digit((Term(0),), radix, modulus=True),), response)


@dataclass(frozen=True)
class FakeDesign(PartialDesign):
    """As much of a design as a store looks at.

    Its options say how many values the answers to each question have, or how many bits. Its
    devices answer evenly, whatever the record, so that it keeps any promise.
    """

    domain: RecordDomain
    epsilon: Epsilon
    options: Mapping[str, Any]

    name = "fake"

    @cached_property
    def plan(self) -> Plan:
        half = (WORDS // 2,)
        if "bits" in self.options:
            parts = [(_part(bits, Bits(half, half)),) for bits in self.options["bits"]]
        else:
            rows = self.options["limits"]
            parts = [tuple(_part(limit, Arcs(0, (1,))) for limit in row) for row in rows]
        return Plan(self.domain.sizes, (WORDS,), tuple(Face(1, part) for part in parts))

    @property
    def guarantee(self) -> StatedGuarantee:
        return StatedGuarantee("local", self.epsilon, protects="everything")

    def to_json(self) -> Mapping[str, Any]:
        return dict(self.options)


@dataclass(frozen=True)
class FakeMechanism(PartialRecipe):
    """The registry line of `FakeDesign`."""

    name: str = "fake"

    def design(self, domain, epsilon, options, workload=None, weigh=None):
        return FakeDesign(domain, epsilon, options)

    def restore(self, domain, epsilon, data):
        options = {name: value for name, value in data.items() if name in ("bits", "limits")}
        return FakeDesign(domain, epsilon, options)


def fake_survey(
    table: str = "app",
    options: Mapping[str, Any] = PLAIN,
    public: Sequence[PublicColumn] = (),
    epsilon: str = "1",
) -> Survey:
    """Needs the fixture `fake` (see conftest.py)."""
    schema = Schema((Dimension("age", int_domain(0, 9)),), public=tuple(public))
    return Survey.of(table, schema, epsilon, "fake", options)


def reports_of(survey: Survey, count: int, seed: int = 0, *, signed: bool = True) -> pa.Table:
    """Random reports with random public columns and ids, which no two calls have in common; the
    survey is signed into the metadata."""
    rng = np.random.default_rng(seed)
    form = survey.design.report_format
    report_type = rng.integers(0, form.types, count)
    columns = {f"ldpsql_{form.columns[0]}": pa.array(report_type.astype(f"u{form.widths[0] // 8}"))}
    for j, (name, width) in enumerate(zip(form.columns[1:], form.widths[1:], strict=True)):
        values = rng.integers(0, form.limits[report_type, j]).astype(f"u{width // 8}")
        columns[f"ldpsql_{name}"] = pa.array(values)
    for column in survey.schema.public:
        columns[column.name] = _public(column, rng, count)
    metadata = {b"ldpsql.fingerprint": survey.fingerprint.encode()} if signed else None
    return append_ids(pa.table(columns)).replace_schema_metadata(metadata)


def with_new_ids(table: pa.Table) -> pa.Table:
    """The same reports of as many other people."""
    return append_ids(table.drop_columns([ID_COLUMN]))


def in_digits(table: pa.Table) -> pa.Table:
    """The table with its ids written as text files have them."""
    ids = pa.array(value.hex() for value in table[ID_COLUMN].to_pylist())
    return table.set_column(table.column_names.index(ID_COLUMN), ID_COLUMN, ids)


def write_csv(table: pa.Table, path: Path) -> None:
    """The rows of a table as CSV."""
    pacsv.write_csv(in_digits(table), path)


def write_jsonl(table: pa.Table, path: Path) -> None:
    """The rows of a table as JSON lines."""
    lines = [json.dumps(row, default=str) for row in in_digits(table).to_pylist()]
    path.write_text("\n".join(lines) + "\n")


def add_ids(text: str) -> str:
    """CSV, or JSON lines of columns, with an id in every line that says something."""
    lines = text.splitlines(keepends=True)
    return "".join(map(_add_id, lines, [True] + [False] * len(lines)))


def _add_id(line: str, is_first: bool) -> str:
    own, body = os.urandom(16).hex(), line.rstrip("\r\n")
    end = line[len(body) :]
    if body.startswith("{"):
        return f'{body[:-1]}, "{ID_COLUMN}": "{own}"}}{end}'
    return f"{body},{ID_COLUMN if is_first else own}{end}" if body else line


def _public(column: PublicColumn, rng: np.random.Generator, count: int) -> pa.Array:
    mask = rng.random(count) < 0.2
    if column.type == "float":
        return pa.array(rng.integers(0, 4, count) / 2, mask=mask)
    if column.type == "int":
        return pa.array(rng.integers(-2, 3, count), mask=mask)
    if column.type == "text":
        return pa.array([f"v{i}" for i in rng.integers(0, 3, count)], mask=mask)
    days = [date(2026, 1, 1) + timedelta(days=int(i)) for i in rng.integers(0, 3, count)]
    return pa.array(days, type=pa.date32(), mask=mask)
