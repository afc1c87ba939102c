"""Runs on the device. Sees raw values. One person's answer to one survey."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from ldpsql.client.consent import Consent
from ldpsql.client.encode import Record, encode, public_values
from ldpsql.client.entropy import require_os_entropy
from ldpsql.mechanisms.base import Entropy
from ldpsql.survey import Survey
from ldpsql_device.domains import Value
from ldpsql_device.errors import ReportError
from ldpsql_device.schema import RESERVED_PREFIX

if TYPE_CHECKING:
    from ldpsql.client.ledger import Ledger

FINGERPRINT = f"{RESERVED_PREFIX}survey"


@dataclass(frozen=True)
class Report:
    """What leaves the device.

    fingerprint: of the survey that it answers.  values: the randomized integers by report
    column.  public: the columns that travel in clear.
    """

    fingerprint: str
    values: Mapping[str, int]
    public: Mapping[str, Value | None]

    def to_row(self) -> dict[str, Any]:
        """One flat row: `ldpsql_survey`, `ldpsql_<report column>`, and the public columns."""
        reported = {RESERVED_PREFIX + name: value for name, value in self.values.items()}
        return {FINGERPRINT: self.fingerprint, **reported, **self.public}

    def to_json(self) -> str:
        """The row as one line of JSON, dates and timestamps in ISO 8601."""
        return json.dumps(self.to_row(), default=_iso, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, survey: Survey) -> Report:
        """The inverse of `to_json`; ReportError if the text is no report of the survey."""
        try:
            row = json.loads(text)
            values = {name: row[RESERVED_PREFIX + name] for name in _columns(survey)}
            public = {c.name: _typed(row[c.name], c.type) for c in survey.schema.public}
            fingerprint = row[FINGERPRINT]
        except (ValueError, KeyError, TypeError):
            raise ReportError(f"not a report of the survey {survey.table}") from None
        whole = all(type(value) is int and value >= 0 for value in values.values())
        if fingerprint != survey.fingerprint or not whole:
            raise ReportError(f"not a report of the survey {survey.table}")
        return cls(fingerprint, values, public)


def respond(
    survey: Survey,
    record: Record,
    *,
    ledger: Ledger | None = None,
    entropy: Entropy | None = None,
    accept_no_guarantee: bool = False,
    accept_disclosure: bool = False,
) -> Report:
    """Answer a survey for one person: the record stays here, the report may leave.

    With a ledger, a second answer to the same survey is the first one again, and a total loss
    above the ledger's budget is refused, as is a second round of the same survey. `entropy` may
    only be an OsEntropy. `accept_no_guarantee`: answer also a survey that promises nothing;
    `accept_disclosure`: one that may give away values which it does not call sensitive.

    Raises SurveyError for such a survey otherwise, RecordError (naming the column, never the
    value) if the record does not fit, and what `Ledger.answer` raises.
    """
    Consent(accept_no_guarantee, accept_disclosure).require(survey)
    source = require_os_entropy(entropy)

    def draw() -> Report:
        codes = encode(survey.schema, record, source)
        reports = survey.design.randomize(codes, source)
        values = {name: int(column[0]) for name, column in reports.columns.items()}
        return Report(survey.fingerprint, values, public_values(survey.schema, record))

    return draw() if ledger is None else ledger.answer(survey, draw)


def _columns(survey: Survey) -> tuple[str, ...]:
    return survey.design.report_format.columns


def _iso(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a report")


def _typed(value: Any, kind: str) -> Value | None:
    if value is None or kind not in ("date", "timestamp"):
        return value  # type: ignore[no-any-return]
    return (date if kind == "date" else datetime).fromisoformat(value)
