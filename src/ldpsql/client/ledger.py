"""Runs on the device. Sees raw values. What this device has already answered.

Two answers to one survey would tell twice as much as one. A ledger keeps the first report and
gives it again, and refuses a survey whose epsilon, added to those already answered, would exceed
the person's budget. A ledger that cannot be read is never taken for an empty one; deleting the
file is the person's own decision to start anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ldpsql.client.atomic import replacing
from ldpsql.client.respond import Report
from ldpsql.errors import Error, OperationalError, StoreError
from ldpsql.privacy import Epsilon, compose
from ldpsql.survey import Survey

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One answered survey: its epsilon and the report as it left the device."""

    table: str
    epsilon: Epsilon
    report: str


@dataclass(frozen=True)
class Ledger:
    """The answers of one device, in a file that only its owner can read (mode 0600).

    budget: the largest total epsilon over all surveys; None sets no limit.
    """

    path: Path
    budget: Epsilon | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    def spent(self) -> Decimal:
        """Total epsilon of all surveys answered so far, exactly."""
        return compose(entry.epsilon for entry in self._read().values())

    def answer(self, survey: Survey, draw: Callable[[], Report]) -> Report:
        """The report given to this survey before, or a new one, written down before it is given.

        Raises OperationalError where the budget does not allow it, StoreError where the ledger
        cannot be read or written; in both cases nothing is drawn or nothing leaves.
        """
        with self._locked():
            entries = self._read()
            known = entries.get(survey.fingerprint)
            if known is not None:
                return self._restored(known, survey)
            self._check_budget(entries, survey)
            report = draw()
            entry = Entry(survey.table, survey.epsilon, report.to_json())
            self._write({**entries, survey.fingerprint: entry})
            return report

    def _check_budget(self, entries: dict[str, Entry], survey: Survey) -> None:
        if self.budget is None:
            return
        if survey.design.guarantee.epsilon is None:
            raise OperationalError(
                f"survey {survey.table} promises no privacy, which no budget can cover"
            )
        spent = compose(entry.epsilon for entry in entries.values())
        if compose([survey.epsilon]) + spent > self.budget.value:
            raise OperationalError(
                f"survey {survey.table} asks for epsilon {survey.epsilon}, but {spent} of the "
                f"budget of {self.budget} is spent; nothing was sent"
            )

    def _restored(self, entry: Entry, survey: Survey) -> Report:
        try:
            return Report.from_json(entry.report, survey)
        except Error:
            raise self._damaged() from None

    def _read(self) -> dict[str, Entry]:
        """All entries by fingerprint; StoreError unless the file is exactly as it was written."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError):
            raise self._damaged() from None
        try:
            data = json.loads(text)
            if data["format"] != FORMAT or data["checksum"] != _checksum(data["entries"]):
                raise self._damaged()
            return {
                fingerprint: Entry(e["table"], Epsilon.parse(e["epsilon"]), e["report"])
                for fingerprint, e in data["entries"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError, Error):
            raise self._damaged() from None

    def _write(self, entries: dict[str, Entry]) -> None:
        plain = {
            fingerprint: {"table": e.table, "epsilon": str(e.epsilon), "report": e.report}
            for fingerprint, e in entries.items()
        }
        data = {"format": FORMAT, "entries": plain, "checksum": _checksum(plain)}
        try:
            with replacing(self.path, mode=0o600) as temporary:
                temporary.write_text(json.dumps(data, indent=1), encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"cannot write the ledger {self.path} ({error.strerror}); nothing was sent"
            ) from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from answering meanwhile, as both would find the budget unspent."""
        import fcntl  # noqa: PLC0415  (not on every platform; importing this module is)

        try:
            lock = self.path.with_name(f".{self.path.name}.lock").open("a")
        except OSError as error:
            raise StoreError(f"cannot lock the ledger {self.path} ({error.strerror})") from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _damaged(self) -> StoreError:
        return StoreError(
            f"the ledger {self.path} cannot be read, so nothing is answered; "
            "restore it from a copy (deleting it forgets what was answered)"
        )


def _checksum(entries: object) -> str:
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
