"""Runs at the collector. Sees counts. Whether reports come as a batch that keeps what their survey
promises once they are shuffled.

What a file says of its shuffling is no proof. It keeps reports that nobody shuffled from being
taken by mistake, and the promise from being made for a crowd that is not there.
"""

from __future__ import annotations

from ldpsql.batch import ShuffledBatch
from ldpsql.mechanisms.promise import achieved
from ldpsql.store.duckdb.files import Incoming
from ldpsql.survey import Survey
from ldpsql_device.errors import FingerprintError, ReportError


def require_shuffled(survey: Survey, incoming: Incoming, rows: int) -> None:
    """ReportError unless reports of a survey that trusts a shuffler come from one, all of them."""
    if survey.shuffled is None:
        return
    name = incoming.name
    if incoming.shuffled is None:
        raise ReportError(
            f"{name} was not shuffled: survey {survey.table} promises each person to hide among "
            "others; nothing was taken. Have the reports shuffled by somebody else (ldpsql shuffle)"
        )
    batch = ShuffledBatch.from_json(incoming.shuffled, name)
    if batch.fingerprint != survey.fingerprint:
        raise FingerprintError(
            f"{name} was shuffled for another survey than {survey.table} "
            f"({survey.fingerprint[:12]})"
        )
    if batch.reports != rows:
        raise ReportError(
            f"{name} holds {rows:,} reports, but {batch.reports:,} were shuffled; nothing was taken"
        )


def require_crowd(survey: Survey, name: str, reports: int, *, accept_smaller: bool) -> None:
    """ReportError for a batch of fewer reports than the survey was designed for, with what it
    achieves; unless that is accepted, and every answer will say so."""
    trust = survey.shuffled
    if trust is None or accept_smaller or reports >= trust.users:
        return
    found = achieved(survey.design, trust, reports)
    still = "no epsilon" if found is None else f"epsilon {found:f}"
    raise ReportError(
        f"{name} holds {reports:,} reports, fewer than the {trust.users:,} that survey "
        f"{survey.table} was designed for: at delta {trust.delta} it keeps {still} and not "
        f"{trust.epsilon}; nothing was taken. Wait for a larger batch, or take it with this weaker "
        "promise, which every answer will state (--accept-smaller-batch)"
    )
