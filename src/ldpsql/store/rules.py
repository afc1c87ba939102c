"""The rules of ingestion: which files and rows a store takes, as reports of which survey.

They hold for every backend and know nothing of SQL. A backend says how it reads a file and how it
keeps reports (`Writer`).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from ldpsql.intake import Intake
from ldpsql.shuffle.batch import ShuffledBatch
from ldpsql_device.arrow import ID_COLUMN
from ldpsql_device.errors import FingerprintError, InterfaceError, ReportError
from ldpsql_device.schema import RESERVED_PREFIX
from ldpsql_device.survey import LARGEST_TEXT

SURVEY_COLUMN = f"{RESERVED_PREFIX}survey"
"""A column of report files that may hold the fingerprint of the survey, row by row."""
SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
"""How names of report files end, in lower case."""
_SHOWN, _MOST_BESIDE = 5, 100


@dataclass(frozen=True)
class KnownSurvey:
    """A survey that a store has.

    key: its name in lower case.  fingerprint: of the survey.  text: as published, with or without
    the collector's part (see `Intake`).
    """

    key: str
    fingerprint: str
    text: str


@dataclass(frozen=True)
class Policy:
    """How to take reports.

    skip_invalid: take the reports among rows that are none.  keep: "reports", or "counts" to
    delete all reports of the survey once they are counted.  accept_smaller_batch: take a shuffled
    batch of fewer reports than its survey was designed for; answers then say what it keeps.
    Raises InterfaceError for any other `keep`.
    """

    skip_invalid: bool = False
    keep: str = "reports"
    accept_smaller_batch: bool = False

    def __post_init__(self) -> None:
        if self.keep not in ("reports", "counts"):
            raise InterfaceError(f'keep must be "reports" or "counts", not {self.keep!r}')


@dataclass(frozen=True)
class Batch:
    """What became of one ingested file.

    name: the file.  reports: how many were taken.  skipped: how many were not reports of the
    survey (only with skip_invalid).  known: whether the same content had been taken before.
    """

    name: str
    reports: int
    skipped: int
    known: bool


@dataclass(frozen=True)
class Incoming:
    """A file or table of reports on its way in, as a backend opened it.

    name: for messages.  relation: what the backend selects its rows from.  types: the backend's
    type of every column.  rows: how many, good or bad.  is_text: whether values are still text;
    are_keys: whether the columns are keys of JSON objects.  batch: what the file says of its
    shuffling, or None.  claims: fingerprints of surveys that the file or its rows name.
    broken: how many lines are not rows at all, which count among the rows; first_broken: the
    numbers of the first few.
    """

    name: str
    relation: str
    types: Mapping[str, str]
    rows: int
    is_text: bool = False
    are_keys: bool = False
    batch: str | None = None
    claims: frozenset[str] = frozenset()
    broken: int = 0
    first_broken: tuple[int, ...] = ()


class Writer(ABC):
    """A backend's turn at changing a store; other writers wait."""

    def __init__(self, read_intake: Callable[[str], Intake]) -> None:
        """read_intake: takes what is needed of a published survey from its text."""
        self.read_intake = read_intake

    def register(self, intake: Intake, where: str = "") -> None:
        """Add a survey, or the collector's part of one that is known without it.

        Raises FingerprintError, saying `where`, if another one has its name.
        """
        known = {survey.key: survey for survey in self.known_surveys()}.get(intake.key)
        if known is None:
            self.add_survey(intake)
        elif known.fingerprint == intake.fingerprint:
            if intake.is_complete and known.text != intake.text:
                self.complete_survey(intake)
        else:
            raise FingerprintError(
                f"{where}the store knows another survey {intake.table} (fingerprint "
                f"{known.fingerprint[:12]}, not {intake.fingerprint[:12]}); use the survey it was "
                "made with, or another store"
            )

    def take(
        self, incoming: Incoming, batch_id: str, given: Intake | None, policy: Policy
    ) -> Batch:
        """Take one file or table, whole or not at all.

        batch_id: under which it is known afterwards; what is known already is not taken again.
        given: the survey to which the reports belong, where the caller says so. Raises ReportError
        for rows that are not reports (unless they are to be skipped), and for reports of a survey
        that trusts a shuffler unless they are a shuffled batch of at least its size;
        FingerprintError for reports of another survey.
        """
        with self.transaction():
            intake = choose_survey(incoming, given, self.known_surveys(), self.read_intake)
            self.register(intake, f"{incoming.name}: ")
            if self.has_batch(intake, batch_id):
                return Batch(incoming.name, 0, 0, known=True)
            incoming = self.unpack(intake, incoming)
            require_columns(intake, incoming)
            require_shuffled(intake, incoming)
            taken = self.add_reports(intake, incoming, batch_id, policy)
            require_batch_size(intake, incoming.name, taken, policy)
            return Batch(incoming.name, taken, incoming.rows - taken, known=False)

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All of what happens inside or nothing of it."""

    @abstractmethod
    def known_surveys(self) -> Sequence[KnownSurvey]:
        """The surveys of the store, by name."""

    @abstractmethod
    def add_survey(self, intake: Intake) -> None:
        """Add a survey and make room for its reports."""

    @abstractmethod
    def complete_survey(self, intake: Intake) -> None:
        """Put the text of a survey with its collector's part in the place of one without."""

    @abstractmethod
    def has_batch(self, intake: Intake, batch_id: str) -> bool:
        """Whether a batch of a survey was taken before."""

    @abstractmethod
    def read_file(self, path: Path) -> Incoming:
        """Open a file; ReportError if it is damaged."""

    @abstractmethod
    def read_table(self, table: pa.Table) -> Incoming:
        """Take a table in memory for a file."""

    @abstractmethod
    def unpack(self, intake: Intake, incoming: Incoming) -> Incoming:
        """Reports as devices send them, objects with id, report and public, as columns.

        Anything else is left as it is.
        """

    @abstractmethod
    def add_reports(self, intake: Intake, incoming: Incoming, batch_id: str, policy: Policy) -> int:
        """Keep or count the reports and write the batch down; how many there are.

        Raises the ReportError of `refuse_rows` for rows that are not reports, unless they are to
        be skipped.
        """

    @abstractmethod
    def merge_counts(self) -> None:
        """After some batches: bring the counts of equal reports up to date where that pays."""


# -- files ------------------------------------------------------------------------------------


def digest(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal; ReportError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None


def require_suffix(path: Path) -> str:
    """How the name ends, in lower case; ReportError if no report file's name does."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ReportError(
            f"{path} is not a report file: its name must end in {', '.join(SUFFIXES)}"
        )
    return suffix


# -- columns and rows --------------------------------------------------------------------------


def require_distinct(name: str, columns: Sequence[str], *, are_keys: bool = False) -> None:
    """ReportError for two columns whose names differ in nothing but case.

    are_keys: for members of JSON objects, which have no places. A name may be a raw value (in a
    file without a header), so it is never shown.
    """
    lowered = [column.lower() for column in columns]
    repeated = [column for column, count in Counter(lowered).items() if count > 1]
    if not repeated:
        return
    if are_keys:
        raise ReportError(f"{name}: two keys have the same name but for case; keep one of them")
    first, second = [i for i, column in enumerate(lowered, 1) if column == repeated[0]][:2]
    raise ReportError(
        f"{name}: columns {first} and {second} have the same name (case does not count)"
    )


def require_columns(intake: Intake, incoming: Incoming) -> None:
    """ReportError for a column that is missing, and for one that reports do not have.

    The name of the latter may be a raw value, as in a CSV file without a header, so messages give
    its position.
    """
    known = {*intake.columns, SURVEY_COLUMN, ID_COLUMN}
    for position, column in enumerate(incoming.types, 1):
        if column not in known:
            place = "one of the keys" if incoming.are_keys else f"column {position}"
            names = ", ".join(f'"{name}"' for name in intake.columns)
            raise ReportError(
                f"{incoming.name}: {place} is not part of a report of {intake.key} and may hold "
                "raw values; nothing was taken: remove it, or randomize the file first (a report "
                f"has the columns {names})"
            )
    for column in intake.columns:
        if column not in incoming.types:
            raise ReportError(f"{incoming.name}: column {column!r} is missing")


def refuse_rows(incoming: Incoming, faults: Sequence[tuple[int, str]]) -> ReportError:
    """The error for a file with rows that are not reports; faults: (row, reason), ascending."""
    way_out = "nothing was taken (skip invalid rows to take the others)"
    if incoming.broken:
        lines = ", ".join(map(str, incoming.first_broken[:_SHOWN]))
        return ReportError(
            f"{incoming.name}: {incoming.broken} broken line(s), the first at {lines}; {way_out}"
        )
    shown = "; ".join(f"row {row}: {reason}" for row, reason in faults[:_SHOWN])
    more = "; and more" if len(faults) > _SHOWN else ""
    return ReportError(f"{incoming.name}: {shown}{more} (row 1 is the first); {way_out}")


# -- whose reports -----------------------------------------------------------------------------


def choose_survey(
    incoming: Incoming,
    given: Intake | None,
    known: Sequence[KnownSurvey],
    read_intake: Callable[[str], Intake],
) -> Intake:
    """The survey that was given, that the file names, that lies beside it, or the only one.

    known: the surveys of the store. Raises FingerprintError where these disagree, ReportError
    where nothing says which survey it is.
    """
    claims, chosen = set(incoming.claims), given
    if chosen is None and not claims & {survey.fingerprint for survey in known}:
        chosen = _find_beside(Path(incoming.name), incoming.claims)
    chosen = chosen or read_intake(_named_or_only(incoming, known).text)
    if claims and chosen.fingerprint not in claims:
        raise chosen.refuse(incoming.name, min(claims))
    return chosen


def _find_beside(path: Path, claims: Collection[str]) -> Intake | None:
    """The survey with one of these fingerprints that lies in the folder of a file."""
    if not claims or not path.is_file():
        return None
    for candidate in islice(sorted(path.parent.glob("*.json")), _MOST_BESIDE):
        is_small = candidate.is_file() and candidate.stat().st_size <= LARGEST_TEXT
        if is_small and digest(candidate) in claims:
            return Intake.read(candidate)
    return None


def _named_or_only(incoming: Incoming, known: Sequence[KnownSurvey]) -> KnownSurvey:
    """The survey of the store whose fingerprint the rows carry, or the only one there is."""
    name = incoming.name
    if not incoming.claims:
        if len(known) != 1:
            raise ReportError(
                f"{name} does not say to which survey it belongs, and the store has "
                f"{len(known)}; give the survey"
            )
        return known[0]
    named = [survey for survey in known if survey.fingerprint in incoming.claims]
    if len(named) > 1:
        raise ReportError(
            f"{name} holds reports of several surveys "
            f"({', '.join(survey.key for survey in named)}); put them in files of their own"
        )
    if not named:
        raise FingerprintError(
            f"{name} holds reports of a survey this store does not know; give the survey"
        )
    return named[0]


# -- shuffled batches --------------------------------------------------------------------------
# What a file says about its shuffling proves nothing. These rules keep reports that nobody shuffled
# from being taken by mistake, and a promise from being made for more people than there are.


def require_shuffled(intake: Intake, incoming: Incoming) -> None:
    """ReportError unless reports of a survey that trusts a shuffler come from one, all of them."""
    if intake.shuffled is None:
        return
    name = incoming.name
    if incoming.batch is None:
        raise ReportError(
            f"{name} was not shuffled: survey {intake.table} promises each person to hide among "
            "others; nothing was taken. Have the reports shuffled by somebody else (ldpsql shuffle)"
        )
    batch = ShuffledBatch.from_json(incoming.batch, name)
    if batch.fingerprint != intake.fingerprint:
        raise FingerprintError(
            f"{name} was shuffled for another survey than {intake.table} "
            f"({intake.fingerprint[:12]})"
        )
    if batch.reports != incoming.rows:
        raise ReportError(
            f"{name} holds {incoming.rows:,} reports, but {batch.reports:,} were shuffled; nothing "
            "was taken"
        )


def require_batch_size(intake: Intake, name: str, reports: int, policy: Policy) -> None:
    """ReportError for a batch of fewer reports than the survey was designed for, with the epsilon
    that it achieves; unless the policy accepts it, and then every answer states that epsilon."""
    trust = intake.shuffled
    if trust is None or policy.accept_smaller_batch or reports >= trust.users:
        return
    epsilon = intake.achieved(reports)
    still = "no epsilon" if epsilon is None else f"epsilon {epsilon:f}"
    raise ReportError(
        f"{name} holds {reports:,} reports, fewer than the {trust.users:,} that survey "
        f"{intake.table} was designed for: at delta {trust.delta} it keeps {still} and not "
        f"{trust.epsilon}; nothing was taken. Wait for a larger batch, or take it with this weaker "
        "promise, which every answer will state (--accept-smaller-batch)"
    )
