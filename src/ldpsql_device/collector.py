"""Where surveys come from and reports go: a collector's address (`docs/collect.md`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    getproxies,
)

from ldpsql_device.errors import InterfaceError, OperationalError, SurveyError
from ldpsql_device.statement import Statement
from ldpsql_device.survey import Survey

if TYPE_CHECKING:
    from ldpsql_device.pledge import Pledge, Sealed
    from ldpsql_device.policy import Policy
    from ldpsql_device.reports import Report

TIMEOUT = 30.0
"""Seconds without a byte after which a collector counts as unreachable."""
MOST_REPORTS, MOST_BYTES = 1_000, 1 << 16
"""What a collector takes in one body."""
LARGEST_SURVEY = 1 << 24
"""Bytes of a survey, or of a statement, beyond which an answer is not read."""
_FINAL = (410, 422)
"""How a collector refuses reports for good. Another answer may be a proxy's, and is tried again."""


class _Stay(HTTPRedirectHandler):
    """Takes a redirection for an answer: what is sent goes where it was meant to, or nowhere."""

    def redirect_request(self, *_: Any) -> None:
        """Nothing else is asked."""


def open_directly(url: str) -> OpenerDirector:
    """An opener that follows no redirection and takes the environment's proxies for https, which
    passes them unread. InterfaceError for what is no address, and for one with a password."""
    try:
        parts = urlsplit(url)
        is_one = parts.hostname and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one or parts.scheme not in ("http", "https"):
        raise InterfaceError("a collector's address looks like https://collect.example")
    proxies = getproxies() if parts.scheme == "https" else {}
    return build_opener(_Stay, ProxyHandler(proxies))


@dataclass(frozen=True)
class Delivery:
    """The outcome of sending reports.

    settled: how many the collector has, or has refused for good.  refused: how many of these it has
    refused.  waiting: those to be sent again.  pause: for how many seconds the collector wants to
    be left alone; 0 if it did not say.
    """

    settled: int
    refused: int
    waiting: list[Report | Sealed]
    pause: int = 0


class Collector:
    """A collector, as a device or a backend of devices sees it."""

    def __init__(self, url: str, *, timeout: float = TIMEOUT) -> None:
        """InterfaceError for what is not an address over http or https."""
        self.url, self._timeout, self._opener = url.rstrip("/"), timeout, open_directly(url)

    def fetch(self, table: str, *, policy: Policy) -> tuple[Survey, Statement | None]:
        """The survey that a table asks now, and its author's statement that it is the one, for
        `respond`.

        A policy that names authors demands a statement: SurveyError where the collector has none,
        NotSupportedError where no signature can be checked; None for other policies. SurveyError
        also for a survey that is damaged or another one than the collector names, OperationalError
        where the collector cannot be reached or has no such table.
        """
        answer = self._get(f"tables/{quote(table, safe='')}")
        statement = None if policy.authors is None else Statement.from_json(answer)
        try:
            fingerprint = str(json.loads(answer)["fingerprint"])
        except (ValueError, LookupError, TypeError, RecursionError):
            raise self._elsewhere(200) from None
        survey = Survey.from_json(self._get(f"surveys/{quote(fingerprint, safe='')}"))
        if (survey.fingerprint, survey.table) != (fingerprint, table):
            raise SurveyError(
                f"{self.url} hands out another survey than the one it names for {table!r:.60}; "
                "nothing was sent"
            )
        return survey, statement

    def fetch_pledge(self, survey: Survey) -> Pledge:
        """The pledge that a shuffler, whose address this is, gives about a survey, for `respond`.

        SurveyError where it answers with anything else, OperationalError where it cannot be reached
        or has none.
        """
        from ldpsql_device.pledge import Pledge  # noqa: PLC0415  (for shuffled surveys alone)

        return Pledge.from_json(self._get(f"surveys/{survey.fingerprint}/pledge"))

    def send(self, survey: Survey, reports: Iterable[Report | Sealed]) -> Delivery:
        """Send reports of a survey, in an order that tells nothing; send those that wait later.

        A report may be sent any number of times, and counts once. Nothing is raised for what the
        collector or the network does.
        """
        # They begin with an id or a key, which are random.
        left = sorted(reports, key=lambda report: report.to_json())
        address = f"surveys/{survey.fingerprint}/reports"
        settled = refused = pause = 0
        for count, body in _pack(left):
            try:
                with self._open(address, body) as response:
                    found = _count_refused(response.read(LARGEST_SURVEY))
                if found is None:
                    break
                refused += found
            except HTTPError as error:
                if error.code not in _FINAL:
                    pause = _read_pause(error)
                    break
                refused += count
            except (OSError, HTTPException):
                break
            settled += count
        return Delivery(settled, refused, left[settled:], pause)

    def _open(self, path: str, body: bytes | None = None) -> IO[bytes]:
        kind = {} if body is None else {"Content-Type": "application/x-ndjson"}
        request = Request(f"{self.url}/v1/{path}", body, kind)
        answer: IO[bytes] = self._opener.open(request, timeout=self._timeout)
        return answer

    def _get(self, path: str) -> str:
        try:
            with self._open(path) as response:
                text = response.read(LARGEST_SURVEY + 1)
        except HTTPError as error:
            if error.code == 404:
                raise OperationalError(
                    f"{self.url} has no {path}; check the address and the name of the table"
                ) from None
            raise self._elsewhere(error.code) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            said = getattr(reason, "strerror", None) or type(reason).__name__
            raise OperationalError(f"cannot reach {self.url}: {said}; try again later") from None
        if len(text) > LARGEST_SURVEY:
            raise SurveyError(f"{self.url} answers with more than {LARGEST_SURVEY >> 20} MB")
        return text.decode(errors="replace")

    def _elsewhere(self, status: int) -> OperationalError:
        return OperationalError(
            f"{self.url} does not answer as a collector does (status {status}); check the address"
        )


def _pack(reports: list[Report | Sealed]) -> Iterator[tuple[int, bytes]]:
    """Bodies that a collector takes, each with how many reports it holds."""
    lines, size = list[bytes](), 0
    for report in reports:
        line = f"{report.to_json()}\n".encode()
        if lines and (len(lines) == MOST_REPORTS or size + len(line) > MOST_BYTES):
            yield len(lines), b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield len(lines), b"".join(lines)


def _count_refused(answer: bytes) -> int | None:
    """How many reports of a body were refused: the answer is empty if none was. None for what no
    collector says, such as the page by which a public network asks for a password."""
    try:
        return len(json.loads(answer)["refused"]) if answer else 0
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _read_pause(error: HTTPError) -> int:
    said = error.headers.get("Retry-After", "")
    return min(int(said), 3600) if said.isascii() and said.isdigit() and len(said) < 9 else 0
