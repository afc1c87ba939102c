"""One person's answer to one survey: consent, ledger, encoding, draw, report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from ldpsql_device.encode import Record, encode, public_values
from ldpsql_device.entropy import Entropy, require_os_entropy
from ldpsql_device.errors import ReportError, SurveyError
from ldpsql_device.schema import RESERVED_PREFIX, Schema
from ldpsql_device.survey import Published
from ldpsql_device.types import Value

if TYPE_CHECKING:
    from ldpsql_device.ledger import Ledger

FINGERPRINT = f"{RESERVED_PREFIX}survey"


@dataclass(frozen=True)
class Consent:
    """What is accepted on the device, beside a promise that covers every value.

    Whoever designed a survey has accepted what it gives away for themselves, not for those who
    answer. no_guarantee: that nothing is promised.  disclosure: that values which the survey does
    not declare sensitive, or with a small probability the whole record, are given away.
    """

    no_guarantee: bool = False
    disclosure: bool = False

    def require(self, survey: Published) -> None:
        """SurveyError for a survey that promises less than was accepted."""
        guarantee = survey.guarantee
        if guarantee.kind == "none":
            if not self.no_guarantee:
                raise SurveyError(
                    f"survey {survey.table} is not differentially private: a report can give a "
                    "record away; nothing was sent. Say accept_no_guarantee=True (ldpsql randomize "
                    "--accept-no-guarantee) if nobody's privacy is at stake"
                )
        elif (guarantee.kind != "local" or guarantee.delta) and not self.disclosure:
            raise SurveyError(
                f"survey {survey.table} {_describe_disclosure(survey)}; nothing was sent. Say "
                "accept_disclosure=True (ldpsql randomize --accept-disclosure) if whoever answers "
                "knows that and agrees"
            )


def partly_sensitive_dimensions(schema: Schema) -> tuple[str, ...]:
    """The dimensions of which some values are not declared sensitive."""
    domain = schema.record_domain
    return tuple(
        name
        for j, (name, size) in enumerate(zip(domain.names, domain.sizes, strict=True))
        if len(domain.sensitive_codes(j)) < size
    )


def _describe_disclosure(survey: Published) -> str:
    delta = survey.guarantee.delta
    if delta:
        names = ", ".join(survey.schema.private_columns)
        return f"sends {names} in clear with probability {float(delta):g}"
    names = ", ".join(partly_sensitive_dimensions(survey.schema))
    return (
        f"does not protect all values of {names}: a report may give away those that the survey "
        "does not declare sensitive"
    )


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
    def from_json(cls, text: str, survey: Published) -> Report:
        """The inverse of `to_json`; ReportError if the text is not a report of the survey."""
        try:
            row = json.loads(text)
            values = {name: row[RESERVED_PREFIX + name] for name in survey.report_columns}
            public = {c.name: c.kind.from_json(row[c.name]) for c in survey.schema.public}
            fingerprint = row[FINGERPRINT]
        except (ValueError, KeyError, TypeError):
            raise ReportError(f"not a report of the survey {survey.table}") from None
        whole = all(type(value) is int and value >= 0 for value in values.values())
        if fingerprint != survey.fingerprint or not whole:
            raise ReportError(f"not a report of the survey {survey.table}")
        return cls(fingerprint, values, public)


def respond(
    survey: Published,
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
        columns = survey.draw(codes, source)
        values = {
            name: int(column[0])
            for name, column in zip(survey.report_columns, columns, strict=True)
        }
        return Report(survey.fingerprint, values, public_values(survey.schema, record))

    return draw() if ledger is None else ledger.answer(survey, draw)


def _iso(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a report")
