"""The one writer: what requests bring is committed together, by time and by size.

A request waits until its reports are committed, so that acknowledged means kept. The queue is
bounded: what does not fit is refused at once, and the device sends it again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from ldpsql.server.receiver import Receiver
from ldpsql.store.incoming import check_sent
from ldpsql.store.intake import Intake
from ldpsql.terminal.notes import show_line
from ldpsql_device.errors import Error
from ldpsql_device.survey import utc_today

SECONDS, REPORTS = 0.25, 5_000
"""A commit is made so long after its first report came, or when there are so many."""
WAITING = 50_000
"""Reports that may wait."""
_TIDY, _LITTLE = 20_000, 500_000
_WHILE = 60.0

Sent: TypeAlias = Sequence[bytes] | pa.RecordBatch
"""Lines of a body as they came, or reports that were checked, with their ids."""
Refused = list[tuple[int, str]]


@dataclass
class _PendingWrite:
    """The reports of one body, and the future that tells its sender they are committed."""

    intake: Intake
    sent: Sent
    done: Future[Refused] = field(default_factory=Future)


class Writer:
    """Hands reports to a store or a shuffler, on a thread of its own.

    counts: by (survey's table, what became of reports), "counted", "repeats" or "refused".
    reasons: of those refused, by (survey's table, reason), which no value is in.  untidied: how
    often what came could not be put in order.
    """

    def __init__(
        self, receiver: Receiver, source: str, tell: Callable[[str], None] | None = None
    ) -> None:
        """Start; source: under which name the batches are kept.  tell: called with what keeps them
        from being put in order, once until it changes; written to stderr if left out."""
        self.counts: Counter[tuple[str, str]] = Counter()
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.untidied = 0
        self._receiver, self._source, self._tell = receiver, source, tell or _complain
        self._trouble, self._retried = "", 0.0
        self._requests: deque[_PendingWrite] = deque()
        self._waiting, self._is_closed = 0, False
        self._untidy, self._tidied, self._day = 0, 0, utc_today()
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ldpsql-writer")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Reports that wait to be committed."""
        return self._waiting

    def count_refused(self, intake: Intake, reasons: Sequence[str]) -> None:
        """Count reports that are none of a survey's, each with its reason."""
        with self._wake:
            self.counts[intake.table, "refused"] += len(reasons)
            self.reasons.update((intake.table, reason) for reason in reasons)

    def submit(self, intake: Intake, sent: Sent) -> Future[Refused] | None:
        """Have reports taken; None if too many wait, or it is closed.

        The future tells, once the others are committed, which lines are no reports, each with its
        place and the reason; or it raises what kept all of them from being committed.
        """
        request = _PendingWrite(intake, sent)
        with self._wake:
            if self._is_closed or self._waiting + len(sent) > WAITING:
                return None
            self._requests.append(request)
            before, self._waiting = self._waiting, self._waiting + len(sent)
            if before == 0 or self._waiting >= REPORTS:  # or it would wake for every request
                self._wake.notify()
        return request.done

    def close(self) -> None:
        """Take nothing more, commit what waits, and end."""
        with self._wake:
            self._is_closed = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while (requests := self._next()) is not None:
            surveys = {request.intake.fingerprint: request.intake for request in requests}
            for fingerprint, intake in surveys.items():
                own = [request for request in requests if request.intake.fingerprint == fingerprint]
                self._take(intake, own)
            self._tidy(at_rest=not requests)
        self._tidy(at_rest=True)

    def _next(self) -> list[_PendingWrite] | None:
        """The requests to commit together, nothing where nothing came for a while; None once it is
        closed and nothing waits."""
        with self._wake:
            if not self._requests and not self._is_closed and not self._wake.wait(_WHILE):
                return []
            if self._is_closed and not self._requests:
                return None
            until = time.monotonic() + SECONDS
            while self._waiting < REPORTS and not self._is_closed:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._wake.wait(left)
            requests, count = list[_PendingWrite](), 0
            while self._requests and count < REPORTS:
                requests.append(self._requests.popleft())
                count += len(requests[-1].sent)
            self._waiting -= count
            return requests

    def _take(self, intake: Intake, requests: Sequence[_PendingWrite]) -> None:
        """Commit the reports of one survey, and tell the requests."""
        lines, batches = list[bytes](), list[pa.RecordBatch]()
        for request in requests:
            if isinstance(request.sent, pa.RecordBatch):
                batches.append(request.sent)
            else:
                lines += request.sent
        try:
            reports, refused = check_sent(intake, lines)
            batches += [] if reports is None else [reports]
            taken = self._receiver.take(intake, batches, self._source) if batches else 0
        except Exception as error:  # the next ones may fare better, and no request waits for ever
            known = error if isinstance(error, Error) else RuntimeError(type(error).__name__)
            for request in requests:
                if request.done.set_running_or_notify_cancel():
                    request.done.set_exception(known)
            return
        self._untidy += taken
        good = sum(len(batch) for batch in batches)
        for what, count in (("counted", taken), ("repeats", good - taken)):
            self.counts[intake.table, what] += count
        self.count_refused(intake, [reason for _, reason in refused])
        reasons, start = dict(refused), 0
        for request in requests:
            is_checked = isinstance(request.sent, pa.RecordBatch)
            places = range(0 if is_checked else len(request.sent))
            own = [(at, reasons[start + at]) for at in places if start + at in reasons]
            start += len(places)
            if request.done.set_running_or_notify_cancel():  # it was not given up
                request.done.set_result(own)

    def _tidy(self, *, at_rest: bool) -> None:
        """Put what came in order if it is time to: when a day is over, when it has doubled, and, as
        long as there is little, at rest. A store that cannot be written now is tidied up later; the
        order of what came tells of its commits until then."""
        today, whole = utc_today(), self._tidied + self._untidy
        has_doubled = self._untidy >= max(_TIDY, self._tidied)
        is_new = today != self._day
        if not is_new and not (self._untidy and (has_doubled or (at_rest and whole <= _LITTLE))):
            return
        if time.monotonic() < self._retried and not self._is_closed:
            return
        try:
            self._receiver.tidy()
        except Exception as error:  # no request may wait for a thread that has ended
            self.untidied += 1
            self._retried = time.monotonic() + _WHILE
            self._report(str(error) if isinstance(error, Error) else type(error).__name__)
            return
        self._report("")
        self._tidied, self._untidy, self._day = 0 if is_new else whole, 0, today

    def _report(self, trouble: str) -> None:
        """Say what is wrong now, or that it is over, where that was not said before."""
        if trouble != self._trouble:
            over = "what came was put in order"
            later = f"what came cannot be put in order, and is tried again: {trouble}"
            self._tell(later if trouble else over)
            self._trouble = trouble


def _complain(what: str) -> None:
    show_line(f"ldpsql: {what}")
