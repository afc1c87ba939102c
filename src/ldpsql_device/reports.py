"""Reports of one person: made of the numbers that were drawn, and read back from a ledger."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsql_device.errors import ReportError
from ldpsql_device.values import TYPES, Value

if TYPE_CHECKING:
    from ldpsql_device.schema import PublicColumn
    from ldpsql_device.survey import Published

ID_BYTES = 16
"""Random bytes that tell a repeated delivery from another person's equal report."""
_HEX = re.compile("[0-9a-f]*")
_KEYS = {"id", "report", "public"}


@dataclass(frozen=True)
class Report:
    """One report, as it leaves the device. Whatever carries it, a file or an address, names the
    survey.

    id: 16 random bytes in hexadecimal, drawn anew for every report, so that a repeated delivery can
    be told from another person's equal report.  report: the whole numbers of the report in
    hexadecimal, big-endian, each of `report_widths` bits, so that all reports of a survey have one
    length.  public: the columns that travel in clear.
    """

    id: str
    report: str
    public: Mapping[str, Value | None]

    @classmethod
    def of(
        cls, survey: Published, numbers: Sequence[int], public: Mapping[str, Value | None]
    ) -> Report:
        """A report with an id of its own."""
        packed = (
            int(number).to_bytes(width // 8, "big")
            for number, width in zip(numbers, survey.report_widths, strict=True)
        )
        return cls(os.urandom(ID_BYTES).hex(), b"".join(packed).hex(), public)

    def to_json(self) -> str:
        """One line of JSON: {"id": ..., "report": ..., "public": {...}}."""
        public = {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in self.public.items()
        }
        row = {"id": self.id, "report": self.report, "public": public}
        return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_report(text: str, survey: Published) -> Report:
    """The inverse of `Report.to_json`; ReportError if the text is not a report of the survey."""
    try:
        row = json.loads(text)
        identifier, given, columns = row["id"], row["public"], survey.schema.public
        public = {c.name: read_value(c.type, given[c.name]) for c in columns}
        known = set(row) == _KEYS and set(given) == set(public)
        known = known and all(public[c.name] is None or holds(c, public[c.name]) for c in columns)
        if known and _HEX.fullmatch(identifier) and len(identifier) == 2 * ID_BYTES:
            report = Report(identifier, row["report"], public)
            if is_answer(survey, numbers_of(report, survey)):
                return report
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise _refuse(survey)


def numbers_of(report: Report, survey: Published) -> tuple[int, ...]:
    """The whole numbers of a report, by the columns of the survey's plan; ReportError if its length
    is not that of the survey's reports."""
    digits = [width // 4 for width in survey.report_widths]
    if len(report.report) != sum(digits) or not _HEX.fullmatch(report.report):
        raise _refuse(survey)
    ends = accumulate(digits, initial=0)
    return tuple(int(report.report[start:end], 16) for start, end in pairwise(ends))


def holds(column: PublicColumn, value: Any) -> bool:
    """Whether a value is of a public column's type, and lies between its bounds."""
    own = column.read(value)
    return own is not None and own == replace(column, bounds=None).read(value)


def is_answer(survey: Published, numbers: tuple[int, ...]) -> bool:
    """Whether these are a question of a survey, and answers below its limits."""
    question, *answers = numbers
    plan = survey.plan
    return question < plan.questions and bool((np.array(answers) < plan.limits[question]).all())


def read_value(kind: str, value: Any) -> Value | None:
    """A value of JSON, which holds moments as text; ValueError if it is not of the type."""
    if isinstance(value, str) and kind in ("date", "timestamp"):
        value = (date if kind == "date" else datetime).fromisoformat(value)
    if value is not None and not TYPES[kind](value):
        raise ValueError(f"not of type {kind}")
    return float(value) if kind == "float" and value is not None else value


def _refuse(survey: Published) -> ReportError:
    return ReportError(
        f"not a report of the survey {survey.table}: send what `respond` gave, whole and unchanged"
    )
