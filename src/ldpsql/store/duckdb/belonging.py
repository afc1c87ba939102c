"""Runs at the collector. Sees no reports. To which survey a file of reports belongs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ldpsql.store.duckdb.files import Incoming
from ldpsql.survey import Survey
from ldpsql_device.errors import FingerprintError, ReportError


def belonging(
    incoming: Incoming,
    given: Survey | None,
    known: Sequence[Survey],
    parse: Callable[[str], Survey],
) -> Survey:
    """The survey that was given, that the file carries, that its rows name, or the only one.

    known: the surveys of the store.  parse: reads the survey that a file carries. Raises
    FingerprintError where these disagree, ReportError where nothing says which survey it is.
    """
    embedded = None if incoming.embedded is None else parse(incoming.embedded)
    chosen = given or embedded or _claimed(incoming, known) or _only(incoming, known)
    claims = incoming.claims | ({embedded.fingerprint} if embedded else set())
    if claims and chosen.fingerprint not in claims:
        raise FingerprintError(
            f"{incoming.name} holds reports of another survey (fingerprint {_shown(min(claims))}, "
            f"not {chosen.fingerprint[:12]} of {chosen.table}); give the survey they were made for"
        )
    return chosen


def _claimed(incoming: Incoming, known: Sequence[Survey]) -> Survey | None:
    """The survey whose fingerprint the rows carry."""
    if not incoming.claims:
        return None
    found = [survey for survey in known if survey.fingerprint in incoming.claims]
    if len(found) > 1:
        raise ReportError(
            f"{incoming.name} holds reports of several surveys "
            f"({', '.join(survey.table for survey in found)}); put them in files of their own"
        )
    if not found:
        raise FingerprintError(
            f"{incoming.name} holds reports of a survey this store does not know; give the survey"
        )
    return found[0]


def _only(incoming: Incoming, known: Sequence[Survey]) -> Survey:
    if len(known) != 1:
        raise ReportError(
            f"{incoming.name} does not say to which survey it belongs, and the store has "
            f"{len(known)}; give the survey"
        )
    return known[0]


def _shown(claim: str) -> str:
    """The start of a fingerprint; what is none may be anything, so it is not repeated."""
    is_fingerprint = len(claim) == 64 and not claim.strip("0123456789abcdef")
    return claim[:12] if is_fingerprint else "none"
