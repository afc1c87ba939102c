"""The rules of ingestion: which files and rows a store takes, as reports of which survey.

They hold for every backend and know nothing of SQL. A backend says how it reads a file and how it
keeps reports (`Writer`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ldpsql.intake import Intake
from ldpsql.report_files import ShuffledBatch
from ldpsql.store.incoming import AcceptedRows, Incoming, digest
from ldpsql_device.errors import FingerprintError, InterfaceError, ReportError
from ldpsql_device.survey import LARGEST_TEXT

_MOST_BESIDE = 100


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
            require_shuffled(intake, incoming)
            reports = AcceptedRows(intake, incoming, skip_invalid=policy.skip_invalid)
            taken = self.add_reports(intake, reports, batch_id, policy.keep)
            require_batch_size(intake, incoming.name, taken, policy)
            return Batch(incoming.name, taken, reports.skipped, known=False)

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
    def add_reports(self, intake: Intake, reports: AcceptedRows, batch_id: str, keep: str) -> int:
        """Keep or count the reports and write the batch down; how many there are."""

    @abstractmethod
    def merge_counts(self) -> None:
        """After some batches: bring the counts of equal reports up to date where that pays."""


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
