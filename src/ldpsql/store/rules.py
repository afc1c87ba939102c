"""The rules of ingestion: which files and rows a store takes, as reports of which survey.

They hold for every backend and know nothing of SQL; `Store` says when they are asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from ldpsql.store.incoming import AcceptedRows, Incoming, digest
from ldpsql.store.intake import Intake
from ldpsql.store.shuffled_batch import BatchSignature, ShuffledBatch
from ldpsql_device.errors import DataError, FingerprintError, InterfaceError, ReportError
from ldpsql_device.survey import LARGEST_TEXT

_MOST_BESIDE = 100
_PUBLIC_KEY = re.compile("[0-9a-f]{64}")


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
class IngestPolicy:
    """How to take reports.

    skip_invalid: take the reports among rows that are none.  keep: "reports", or "counts" to
    delete all reports of the survey once they are counted.  accept_smaller_batch: take a shuffled
    batch of fewer reports than its survey was designed for; answers then say what it keeps.
    shufflers: public keys of those whose signature a shuffled batch must bear, none if any will do.
    Raises InterfaceError for any other `keep`, and for a key that is none.
    """

    skip_invalid: bool = False
    keep: str = "reports"
    accept_smaller_batch: bool = False
    shufflers: Collection[str] = ()

    def __post_init__(self) -> None:
        for key in self.shufflers:
            if not (isinstance(key, str) and _PUBLIC_KEY.fullmatch(key)):
                raise InterfaceError(
                    f"a shuffler is named by its public key of 64 hexadecimal digits, not by "
                    f"{key!r:.40}"
                )
        if self.keep not in ("reports", "counts"):
            raise InterfaceError(f'keep must be "reports" or "counts", not {self.keep!r:.60}')


@dataclass(frozen=True)
class Batch:
    """The outcome of ingesting one file.

    name: the file.  reports: how many were counted.  skipped: how many were not reports of the
    survey (only with skip_invalid).  known: whether the same content had been taken before.
    repeats: reports that were there already, or more than once in the file, by their ids.
    withdrawn: of a known file whose batch was withdrawn, when that was and what to do.
    """

    name: str
    reports: int
    skipped: int
    known: bool
    repeats: int = 0
    withdrawn: str | None = None


@dataclass(frozen=True)
class StoredBatch:
    """A batch as a store has it.

    number: among those of its survey, ascending as they came.  name: the file or the source that
    brought it.  day: on which it was taken (UTC), None where an earlier version wrote no day down.
    reports: how many of its reports count.  skipped: how many rows were no reports.  is_kept:
    whether the reports are there, and not their counts alone.  is_counted: whether the counts are
    there, and not alone what all reports together decode to.  withdrawn: how many reports counted
    until it was withdrawn, None for a batch that was not.
    """

    number: int
    name: str
    day: date | None
    reports: int
    skipped: int
    is_kept: bool
    withdrawn: int | None = None
    is_counted: bool = True

    @property
    def state(self) -> str:
        """The part of it that is there: "reports", "counts", the decoded "state", or nothing since
        it was "withdrawn"."""
        if self.withdrawn is not None:
            return "withdrawn"
        if not self.is_counted:
            return "state"
        return "reports" if self.is_kept else "counts"


@dataclass(frozen=True)
class Imported:
    """The outcome of importing one survey of another store.

    table: its name.  reports, batches: how many were added.  known: batches that were there.
    """

    table: str
    reports: int
    batches: int
    known: int


# -- files taken together ----------------------------------------------------------------------
# A commit takes many times as long as the few reports of a small file, and looking for the ids of
# any number of reports takes a reading of all that are remembered. So files that come one after the
# other are taken in one change, each whole or not at all.

MOST_FILES, MOST_BYTES, MOST_ROWS = 500, 1 << 27, 1 << 23
"""How many files are taken together, and how many bytes and rows they may have, but for a single
one. None of them is held in memory; what waits in a change is on disk as well."""
_ROW_OF_TEXT = 32
"""Bytes of the id of a report in text, with which a row has at least so many."""


@dataclass(frozen=True)
class WaitingFile:
    """A file that waits to be taken, or a table.

    intake: of the survey whose reports it holds.  id: under which its batch is known for ever, None
    for a table (see `batch_id`).  size: its bytes.  rows: that it may have.
    """

    intake: Intake
    incoming: Incoming
    id: str | None
    size: int
    rows: int

    @classmethod
    def of(cls, intake: Intake, incoming: Incoming, path: Path | None) -> WaitingFile:
        """ReportError for a file that cannot be read."""
        own, size = batch_id(incoming, path), 0
        if path is not None:
            with suppress(OSError):  # of which whoever reads it says more
                size = path.stat().st_size
        rows = size // _ROW_OF_TEXT if incoming.rows is None else incoming.rows
        return cls(intake, incoming, own, size, rows)

    def is_among(self, known: KnownBatches) -> bool:
        """Whether its batch is known."""
        return self.id is not None and (self.intake.key, self.id) in known

    def pass_over(self, known: KnownBatches) -> Batch:
        """The outcome where its batch is known, or came just before."""
        why = None if self.id is None else known.get((self.intake.key, self.id))
        return Batch(self.incoming.name, 0, 0, known=True, withdrawn=why)

    def can_follow(self, others: Sequence[WaitingFile]) -> bool:
        """Whether it can be taken together with those before it. Of a shuffled batch a store may
        refuse what it took of it, and nothing else with it."""
        return not others or (
            self.intake.shuffled is None
            and self.intake.fingerprint == others[0].intake.fingerprint
            and len(others) < MOST_FILES
            and self.size + sum(other.size for other in others) <= MOST_BYTES
            and self.rows + sum(other.rows for other in others) <= MOST_ROWS
        )


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
    name, claim, path = incoming.name, incoming.claim, Path(incoming.name)
    if given is not None:
        if claim not in (None, given.fingerprint):
            raise given.refuse(name, str(claim))
        return given
    if claim is None:
        if len(known) != 1:
            raise ReportError(
                f"{name} does not say to which survey it belongs, and the store has "
                f"{len(known)}; give the survey"
            )
        return read_intake(known[0].text)
    for survey in known:
        if survey.fingerprint == claim:
            return read_intake(survey.text)
    if path.is_file():
        for candidate in islice(sorted(path.parent.glob("*.json")), _MOST_BESIDE):
            is_small = candidate.is_file() and candidate.stat().st_size <= LARGEST_TEXT
            if is_small and digest(candidate) == claim:
                return Intake.read(candidate)
    raise FingerprintError(
        f"{name} holds reports of a survey this store does not know; give the survey"
    )


def admit(intake: Intake, incoming: Incoming, policy: IngestPolicy, today: date) -> AcceptedRows:
    """The decision of a store about a file of reports of a survey, once it is read to its end.

    Raises ReportError or FingerprintError for a file that it takes nothing of.
    """
    signed = require_shuffled(intake, incoming, policy.shufflers)
    require_open(intake, incoming.name, today)
    return AcceptedRows(intake, incoming, skip_invalid=policy.skip_invalid, signed=signed)


# -- repeats -----------------------------------------------------------------------------------
# A report is counted once, whatever file, order, encoding or process brings it, because the store
# remembers its id for as long as a device may send it again. Afterwards nothing could tell a
# repeat, so nothing is taken once a survey has ended.


def batch_id(incoming: Incoming, path: Path | None) -> str | None:
    """Under which a batch is known for ever: of a shuffled one its own id, of another file the
    digest of its content, which outlives the ids of its reports; None for a table."""
    if incoming.batch is not None:
        return ShuffledBatch.from_json(incoming.batch, incoming.name).id
    return None if path is None else digest(path)


KnownBatches = Mapping[tuple[str, str], str | None]
"""Batches that were taken, by the keys of their surveys and their ids, and what
`describe_withdrawal` says of those that were withdrawn since."""


def describe_withdrawal(number: int, day: date | None) -> str:
    """The reason for refusing a file whose batch was withdrawn.  day: on which, None where it is
    unknown.

    It does not come back by mistake, and nothing in this store brings it back.
    """
    since = "" if day is None else f" on {day}"
    return (
        f"withdrawn{since} (batch {number}), and not counted again; to count it after all, ingest "
        "it into another database"
    )


def require_open(intake: Intake, name: str, today: date) -> None:
    """ReportError for reports of a survey that has ended; a shuffled batch may come later."""
    if intake.shuffled is None and intake.schedule.has_ended(today):
        raise ReportError(
            f"{name}: survey {intake.table} ended on {intake.schedule.end}, after which no report "
            "is taken; send reports by that day"
        )


# -- repeats in two stores ---------------------------------------------------------------------
# Of a report that came to two stores in different batches nothing tells which one it is, because
# ids lie apart from reports. So where both remember ids that no common batch explains, nothing is
# taken from one into the other.


@dataclass(frozen=True)
class BatchIds:
    """The ids of one batch, as a store remembers them.

    last: until when they are remembered, None where nothing tells.  people: how many there were.
    has_counts_alone: whether its reports were deleted once they were counted.
    """

    number: int
    last: date | None
    people: int
    has_counts_alone: bool


def require_reports(key: str, common: Iterable[BatchIds]) -> None:
    """DataError for a batch that two stores have, and the one to take from in counts alone."""
    for batch in common:
        if batch.has_counts_alone:
            raise DataError(
                f"batch {batch.number} of {key} is in both stores, and the other one has only its "
                "counts, mixed with those of others; nothing was taken. Import "
                "into that one instead"
            )


def require_explained(
    key: str,
    common: Iterable[tuple[BatchIds, BatchIds]],
    their_days: Collection[date],
    our_days: Collection[date],
    shared: Mapping[date, int],
) -> None:
    """DataError where two stores share ids of reports that are in different batches.

    All ids that are remembered until the same day are forgotten together. So a common batch has all
    of its ids in both stores, or in one of them none.

    common: batches of both, as each has them.  their_days, our_days: until when ids are remembered
    in each.  shared: how many ids both remember, by the day as the other store has it.
    """
    explained = Counter[date]()
    for their, our in common:
        if their.last in their_days and our.last in our_days:
            assert their.last is not None
            explained[their.last] += their.people
    more = sum(max(0, count - explained[day]) for day, count in shared.items())
    if more:
        raise DataError(
            f"{more:,} reports of {key} came to both stores in different batches, and nothing "
            "tells which they are, since ids lie apart from reports; nothing was taken. Ingest the "
            "files of one store into the other, which drops repeats"
        )


# -- shuffled batches --------------------------------------------------------------------------
# What a file says about its shuffling proves nothing unless a shuffler that was named signed it.
# These rules keep reports that nobody shuffled from being taken by mistake, and a promise from
# being made for more people than there are.


def require_shuffled(
    intake: Intake, incoming: Incoming, shufflers: Collection[str]
) -> BatchSignature | None:
    """ReportError unless reports of a survey that trusts a shuffler come from one, all of them; the
    signature that they bear.

    shufflers: public keys of those that may sign, none if anybody may.
    """
    if intake.shuffled is None:
        return None
    name = incoming.name
    if incoming.batch is None:
        raise ReportError(
            f"{name} was not shuffled: survey {intake.table} promises everybody to be hidden among "
            "others; nothing was taken. Have the reports shuffled by somebody else (ldpsql "
            "shuffle)"
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
    batch.require_signature(shufflers, name)
    return batch.signed


def require_batch_size(intake: Intake, name: str, reports: int, policy: IngestPolicy) -> None:
    """ReportError for a batch of fewer reports than the survey was designed for, with the epsilon
    that it achieves; unless the policy accepts it, and then every answer states that epsilon."""
    trust = intake.shuffled
    if trust is None or policy.accept_smaller_batch or reports >= trust.users:
        return
    epsilon = intake.find_epsilon(reports)
    still = "no epsilon" if epsilon is None else f"epsilon {epsilon:f}"
    raise ReportError(
        f"{name} holds {reports:,} reports, fewer than the {trust.users:,} that survey "
        f"{intake.table} was designed for: at delta {trust.delta} it keeps {still} and not "
        f"{trust.epsilon}; nothing was taken. Wait for a larger batch, or take it with this weaker "
        "promise, which every answer will state (--accept-smaller-batch)"
    )
