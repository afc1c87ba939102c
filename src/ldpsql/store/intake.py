"""The part of a survey that is needed to take its reports, and the files that hold them.

A store and a shuffler need neither the design of a survey nor its decoder: the part that devices
fetch says which rows are reports.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import numpy as np

from ldpsql.mechanisms.base import find_epsilon
from ldpsql.reports.arrow_types import ID_COLUMN
from ldpsql.reports.report import ReportFormat
from ldpsql.shuffle.accountant import epsilon_of_batch
from ldpsql.shuffle.blankets import find_blanket
from ldpsql.survey import Survey, read_parts
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import (
    FingerprintError,
    InternalError,
    OperationalError,
    ReportError,
    SurveyError,
)
from ldpsql_device.schema import RESERVED_PREFIX, PublicColumn
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Schedule, canonical, utc_today
from ldpsql_device.survey import Survey as DeviceSurvey


@dataclass(frozen=True)
class Intake:
    """The part of a survey that a store or a shuffler needs.

    table: the name of the survey.  fingerprint: of the survey, 64 hexadecimal digits.  format:
    which rows are reports.  public: the columns that travel in clear.  epsilon: what one report
    keeps by itself, or None.  shuffled: what is promised once reports are shuffled, or None where
    no shuffler is trusted.  schedule: of which periods a report can be.  text: the published
    survey, with or without the collector's part.
    """

    table: str
    fingerprint: str
    format: ReportFormat
    public: tuple[PublicColumn, ...]
    epsilon: Epsilon | None
    shuffled: Shuffled | None
    schedule: Schedule
    text: str

    @classmethod
    def of(cls, survey: Survey | Intake) -> Intake:
        """Of a survey with its collector's part; an intake is its own."""
        if isinstance(survey, Intake):
            return survey
        return cls._make(survey, survey.design.report_format)

    @classmethod
    def of_device(cls, survey: DeviceSurvey) -> Intake:
        """Of the part that devices fetch."""
        return cls._make(survey, ReportFormat.of(survey.plan))

    @classmethod
    def _make(cls, survey: Survey | DeviceSurvey, form: ReportFormat) -> Intake:
        return cls(
            survey.table,
            survey.fingerprint,
            form,
            survey.schema.public,
            survey.guarantee.epsilon,
            survey.shuffled,
            survey.schedule,
            survey.to_json(),
        )

    @classmethod
    def read(cls, source: str | Path) -> Intake:
        """From a published survey: JSON text (str), or the file that holds it (Path).

        The text may hold both parts of the survey or that for devices only; the collector's part
        may lie beside a file. Raises SurveyError for anything that is not a survey,
        FingerprintError for a collector's part that is not the one that the survey names.
        """
        device, rest = read_parts(source)
        intake = cls.of_device(device)
        if rest is None:
            return intake
        both = f'{{"collector":{canonical(rest)},"survey":{intake.text}}}'
        return replace(intake, text=both)

    def find_epsilon(self, reports: int) -> Decimal | None:
        """The epsilon that a shuffled batch of so many reports keeps, None if there is none.

        Raises InternalError for a survey that trusts no shuffler.
        """
        trust = self.shuffled
        if trust is None or self.epsilon is None:
            raise InternalError(f"{self.table} is not a survey of shuffled reports")
        if self.is_complete:
            return find_epsilon(Survey.from_json(self.text).design, trust, reports)
        people, plan = trust.people_of(reports), DeviceSurvey.from_json(self.text).plan
        if people < 2:
            return self.epsilon.value
        return epsilon_of_batch((find_blanket(plan),), people, trust.central.delta, self.epsilon)

    def refuse(self, name: str | Path, claim: str) -> FingerprintError:
        """The error for a file that says it holds reports of another survey.

        claim: what it says. Anything but a fingerprint may be a raw value, so it is not repeated.
        """
        is_fingerprint = len(claim) == 64 and not claim.strip("0123456789abcdef")
        return FingerprintError(
            f"{name} holds reports of another survey (fingerprint "
            f"{claim[:12] if is_fingerprint else 'none'}, not {self.fingerprint[:12]} of "
            f"{self.table}); give the survey they were made for"
        )

    @cached_property
    def device_text(self) -> str:
        """The part that devices fetch, as its fingerprint covers it."""
        if not self.is_complete:
            return self.text
        return canonical(json.loads(self.text)["survey"])

    @property
    def author(self) -> str | None:
        """The public key of who signed the survey, None for nobody."""
        author: str | None = json.loads(self.device_text).get("author")
        return author

    @property
    def is_complete(self) -> bool:
        """Whether the text has the collector's part, which answers need."""
        return has_both_parts(self.text)

    @property
    def key(self) -> str:
        """The name under which the survey is kept: names ignore case."""
        return self.table.lower()

    @cached_property
    def report_columns(self) -> tuple[str, ...]:
        """Names of the report's columns in files, the report type first."""
        return tuple(RESERVED_PREFIX + name for name in self.format.columns)

    @cached_property
    def packing(self) -> np.dtype[np.void]:
        """How the numbers of a report lie in bytes, most significant ones first."""
        widths = zip(self.report_columns, self.format.widths, strict=True)
        return np.dtype([(name, f">u{width // 8}") for name, width in widths])

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns of a report."""
        return (*self.report_columns, *(column.name for column in self.public))

    @cached_property
    def file_columns(self) -> tuple[str, ...]:
        """Names of the columns of a file that a store takes: with the ids that tell repeats, which
        a shuffler does not pass on."""
        return self.columns if self.shuffled else (*self.columns, ID_COLUMN)


def has_both_parts(text: str) -> bool:
    """Whether the text of an `Intake` holds the collector's part besides the one for devices."""
    return text.startswith('{"collector":{')


def check_statement(intake: Intake, statement: Statement, before: str | None) -> None:
    """Refuse what no device would believe, or none that believed the statement before.

    before: the statement that is kept. SurveyError for one about another survey than the one that
    is asked here, or by another author; OperationalError for one that was issued before, is issued
    on a day to come, or has ended.
    """
    if (statement.fingerprint, statement.author) != (intake.fingerprint, intake.author):
        raise SurveyError(
            f"the statement is not about the survey {intake.table} that is asked here, or not by "
            "its author; sign one for this survey (`ldpsql statement`)"
        )
    if before is not None and statement.issued < (last := Statement.from_json(before).issued):
        raise OperationalError(
            f"there is a later statement of {last} about the survey {intake.table}, and this one "
            f"is of {statement.issued}; sign a new one"
        )
    if not statement.issued <= (today := utc_today()) <= statement.until:
        raise OperationalError(
            f"the statement about the survey {intake.table} is valid from {statement.issued} to "
            f"{statement.until}, and not on {today}; sign a new one"
        )


def end_of_statement(text: str) -> date:
    """The last day on which a statement that was checked is believed."""
    return date.fromisoformat(json.loads(text)["until"])


# -- days ---------------------------------------------------------------------------------------
# A clock may be set forward or back while devices send reports again. An id that is forgotten too
# early lets a report count twice; one that is kept too long does less harm.


def day_of_arrival(today: date, latest: date | None) -> date:
    """The day from which the ids of reports that come today are remembered: not an earlier one for
    a clock that was set back.

    latest: the latest day that was seen before, None if none was.
    """
    return today if latest is None else max(today, latest)


def day_of_forgetting(today: date, latest: date | None) -> date:
    """The day before which it must be for ids to be forgotten.

    A day is believed once another one was seen shortly before: a clock that is set forward, and
    back again, has no id forgotten.
    """
    return today if latest is None else min(today, latest + timedelta(days=1))


# -- files of reports ---------------------------------------------------------------------------


def expand(paths: Sequence[str | Path], suffixes: Sequence[str]) -> list[Path]:
    """Files behind files, directories and globs, in order; directories are searched in depth.

    suffixes: how names of report files in directories end, in lower case. Raises ReportError for a
    name behind which there is no report file.
    """
    return [path for given in paths for path in _expand(given, suffixes)]


def _expand(given: str | Path, suffixes: Sequence[str]) -> list[Path]:
    path = Path(given)
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in suffixes and p.is_file())
        if not inside:
            raise ReportError(f"there is no report file in {path} ({', '.join(suffixes)})")
        return inside
    if path.exists():
        raise ReportError(f"{path} is a pipe or a device; give ordinary files")
    if not glob.has_magic(str(given)):
        raise ReportError(f"there is no file {path}")
    matches = sorted(glob.glob(str(given), recursive=True))  # noqa: PTH207
    if not matches:
        raise ReportError(f"no file matches {given}")
    return [path for match in matches for path in _expand(match, suffixes)]


def describe_damage(name: str | Path) -> ReportError:
    """The error for a file that cannot be read to its end."""
    return ReportError(f"{name} cannot be read: it is damaged or cut short; copy it again")
