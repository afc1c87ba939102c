"""What this device has already answered.

Two answers to one survey would tell twice as much as one. A ledger keeps the first report and gives
it again, and refuses a survey whose epsilon, added to those already answered, would exceed the
person's budget. Of the rounds of one survey it lets a device answer one. A ledger that cannot be
read is never taken for an empty one; deleting the file is the person's own decision to start anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsql_device.atomic import replace_file
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, OperationalError, StoreError
from ldpsql_device.respond import Report

if TYPE_CHECKING:
    from ldpsql_device.survey import Published

FORMAT = 1
_DIGITS = Context(prec=60)


@dataclass(frozen=True)
class Entry:
    """One answered survey: what it cost, and the report as it left the device.

    epsilon: what the survey promised; None where it promised nothing, so that the loss has no
    bound.  chain: fingerprint of the first of its rounds, see `Survey.chain`.
    """

    table: str
    epsilon: Epsilon | None
    report: str
    chain: str

    @classmethod
    def from_json(cls, fingerprint: str, data: Mapping[str, Any]) -> Entry:
        """The inverse of `to_json`; raises what data of another form lead to."""
        epsilon = data["epsilon"]
        return cls(
            data["table"],
            None if epsilon is None else Epsilon.parse(epsilon),
            data["report"],
            data.get("chain", fingerprint),
        )

    def to_json(self) -> dict[str, str | None]:
        """Plain data."""
        epsilon = None if self.epsilon is None else str(self.epsilon)
        return {
            "table": self.table,
            "epsilon": epsilon,
            "report": self.report,
            "chain": self.chain,
        }


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
        """Total epsilon of all surveys answered so far, exactly.

        Decimal("Infinity") once a survey without a guarantee is among them.
        """
        return _total(self._read())

    def answer(self, survey: Published, draw: Callable[[], Report]) -> Report:
        """The report given to this survey before, or a new one, written down before it is given.

        Raises OperationalError where the budget does not allow it, or another round of the same
        survey was answered, StoreError where the ledger cannot be read or written; in each case
        nothing is drawn or nothing leaves.
        """
        with self._locked():
            entries = self._read()
            known = entries.get(survey.fingerprint)
            if known is not None:
                return self._restored(known, survey)
            _check_round(entries, survey)
            self._check_budget(entries, survey)
            report, epsilon = draw(), survey.guarantee.epsilon
            entry = Entry(survey.table, epsilon, report.to_json(), survey.chain)
            self._write({**entries, survey.fingerprint: entry})
            return report

    def _check_budget(self, entries: dict[str, Entry], survey: Published) -> None:
        if self.budget is None:
            return
        epsilon = survey.guarantee.epsilon
        if epsilon is None:
            raise OperationalError(
                f"survey {survey.table} promises no privacy, which no budget can cover"
            )
        spent = _total(entries)
        if spent.is_infinite():
            raise OperationalError(
                "this device has answered a survey that promises no privacy, so no budget is left "
                f"for survey {survey.table}; nothing was sent"
            )
        if compose([epsilon]) + spent > self.budget.value:
            raise OperationalError(
                f"survey {survey.table} asks for epsilon {epsilon}, but {spent} of the "
                f"budget of {self.budget} is spent; nothing was sent"
            )

    def _restored(self, entry: Entry, survey: Published) -> Report:
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
                fingerprint: Entry.from_json(fingerprint, entry)
                for fingerprint, entry in data["entries"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError, Error):
            raise self._damaged() from None

    def _write(self, entries: dict[str, Entry]) -> None:
        plain = {fingerprint: entry.to_json() for fingerprint, entry in entries.items()}
        data = {"format": FORMAT, "entries": plain, "checksum": _checksum(plain)}
        try:
            with replace_file(self.path, mode=0o600) as temporary:
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


def _total(entries: Mapping[str, Entry]) -> Decimal:
    """Sum of the epsilons; infinite where one of them has no bound."""
    budgets = [entry.epsilon for entry in entries.values()]
    known = [budget for budget in budgets if budget is not None]
    return compose(known) if len(known) == len(budgets) else Decimal("Infinity")


def _check_round(entries: Mapping[str, Entry], survey: Published) -> None:
    """OperationalError where another round of the survey was answered."""
    if any(entry.chain == survey.chain for entry in entries.values()):
        raise OperationalError(
            f"this device has answered another round of survey {survey.table}, and each person "
            "answers one; nothing was sent"
        )


def _checksum(entries: object) -> str:
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def compose(budgets: Iterable[Epsilon]) -> Decimal:
    """Total loss of one person who answered several surveys (sequential composition), exactly."""
    total = Decimal(0)
    for budget in budgets:
        total = _DIGITS.add(total, budget.value)
    return total
