"""Surveys whose reports are changed, reports of them, and which rows are reports, said plainly.

`is_report` was written from docs/format.md#report. It shares the limits of the plan with what it
judges, as `ldpsql_device` reads them, and nothing else.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
from support.golden_surveys import FOLDER, read
from support.surveys import integer, public, survey_toml

from ldpsql.designer import design
from ldpsql.store.intake import Intake
from ldpsql.survey import Survey
from ldpsql_device.reports import is_answer
from ldpsql_device.survey import Survey as DeviceSurvey
from ldpsql_lab.simulation import SeededEntropy

ID = "ldpsql_id"
_TYPES = ("text", "int", "float", "bool", "date", "timestamp")
_USUAL: Mapping[str, Sequence[Any]] = {
    "text": ("a", "b", "é", ""),
    "int": (0, 1, -7, 1 << 40),
    "float": (0.5, -2.0, 1e9, 3),
    "bool": (True, False),
    "date": ("2026-01-01", "1999-12-31"),
    "timestamp": ("2026-01-01T10:00:00", "2026-05-05 11:12:13.5", "2026-05-05"),
}
_DAY = r"\d{4}-\d\d-\d\d"
_MOMENT = rf"{_DAY}([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?"

Row = dict[str, Any]


@dataclass(frozen=True)
class Base:
    """A survey and some of its reports as rows, without ids and public values."""

    survey: Survey
    rows: Sequence[Row]

    @cached_property
    def intake(self) -> Intake:
        """What is needed to take reports."""
        return Intake.of(self.survey)

    @cached_property
    def device(self) -> DeviceSurvey:
        """The survey as a device reads it."""
        return DeviceSurvey.from_json(self.intake.device_text)

    def draw(self, chosen: random.Random) -> Row:
        """A report of somebody, with an id of its own."""
        row = dict(chosen.choice(self.rows))
        for column in self.intake.public:
            row[column.name] = chosen.choice((None, *_USUAL[column.type]))
        return {**row, ID: chosen.randbytes(16).hex()}

    def is_report(self, row: Row) -> bool:
        """Whether a row as JSON lines hold it, by the names of columns, is a report."""
        numbers = [row.get(name) for name in self.intake.report_columns]
        fits = (type(number) is int and 0 <= number < 1 << 63 for number in numbers)
        own, open_columns = row.get(ID), self.intake.public
        return (
            all(fits)
            and is_answer(self.device, numbers)
            and isinstance(own, str)
            and re.fullmatch("[0-9a-f]{32}", own) is not None
            and all(column.name in row for column in open_columns)
            and all(is_value(row[column.name], column.type) for column in open_columns)
        )


def is_value(value: Any, kind: str) -> bool:
    """Whether a value from JSON is one of a public column."""
    if value is None:
        return True
    if kind == "int":
        return type(value) is int and -(1 << 63) <= value < 1 << 63
    if kind == "float":
        # Whole numbers beyond 64 bits are written with an exponent.
        is_number = type(value) is float or is_value(value, "int")
        return is_number and abs(value) <= 1e100
    if kind == "bool":
        return isinstance(value, bool)
    if not isinstance(value, str):
        return False
    if kind == "text":
        return True
    try:
        if kind == "date":
            return bool(re.fullmatch(_DAY, value, re.ASCII) and date.fromisoformat(value))
        return bool(re.fullmatch(_MOMENT, value, re.ASCII) and datetime.fromisoformat(value))
    except ValueError:
        return False


def bases() -> list[Base]:
    """Surveys of all kinds of formats: one with a public column of every type, unary ones, those
    with coins, with several answers and with many questions."""
    rich = design(
        survey_toml(
            integer("age", 0, 4), *(public(f"p_{kind}", kind) for kind in _TYPES), mechanism="grr"
        )
    )
    codes = np.arange(40).reshape(-1, 1) % 5
    found = [_base(rich, rich.draw(codes, SeededEntropy(1)))]
    for name in ("oue", "olh", "hio", "fourier", "haarhrr", "srr-ss"):
        kept = read(FOLDER / f"{name}.json.gz")
        found.append(_base(Survey.from_json(kept["survey"]), kept["reports"]))
    return [base for base in found if base.intake.shuffled is None]


def _base(survey: Survey, columns: Sequence[Any]) -> Base:
    names = Intake.of(survey).report_columns
    every = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return Base(survey, [dict(zip(names, row, strict=True)) for row in every])


def payload(base: Base, row: Row) -> str:
    """A row as a line that a device sends."""
    widths = base.survey.design.report_format.widths
    numbers = (row[name] for name in base.intake.report_columns)
    digits = "".join(f"{n:0{w // 4}x}" for n, w in zip(numbers, widths, strict=True))
    public_values = {column.name: row[column.name] for column in base.intake.public}
    return json.dumps({"id": row[ID], "report": digits, "public": public_values})


def parse(line: bytes, *, sent: bool, base: Base) -> Row | None:
    """The row of a line of JSON; None for what is none. Lines that devices send become rows by the
    names of columns."""
    try:
        row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_pairs, parse_constant=_no)
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    if not sent:
        return row
    widths = base.survey.design.report_format.widths
    digits, given = row.get("report"), row.get("public")
    if not isinstance(digits, str) or not re.fullmatch(f"[0-9a-f]{{{sum(widths) // 4}}}", digits):
        return {}
    if not isinstance(given, dict):
        return {}
    found, start = dict(given), 0
    for name, width in zip(base.intake.report_columns, widths, strict=True):
        found[name] = int(digits[start : start + width // 4], 16)
        start += width // 4
    return {**found, ID: row.get("id")}


def _pairs(pairs: list[tuple[str, Any]]) -> Row:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def _no(_: str) -> None:
    raise ValueError("no JSON")
