"""Processes that share one ledger: for spawning, so everything they need is imported here."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from support.giving import PLENTY, sealed_anew, yes_or_no
from support.surveys import ANYTHING

from ldpsql_device import ledger as module
from ldpsql_device.answer import respond
from ldpsql_device.errors import StoreError
from ldpsql_device.ledger import Ledger


def answer_together(path: str, tries: int, barrier: Any, answers: Any, *, guarded: bool) -> None:
    """Ask so many surveys at the same moments as the other process, and send what is given."""
    if not guarded:
        take_locks_out()
    survey = yes_or_no()
    given = []
    for asked in sealed_anew(survey, tries):
        ledger = Ledger(Path(path), **PLENTY)
        barrier.wait()
        try:
            given.append(respond(asked, {"positive": True}, policy=ANYTHING, ledger=ledger).id)
        except StoreError as error:
            given.append(str(error))
    answers.put(given)


def take_locks_out() -> None:
    """Ledgers without transactions, and without the constraint and the digests that would show
    their loss."""

    @contextmanager
    def unlocked(self: Ledger, begin: str) -> Any:
        if not self.path.exists():
            self._create()
        with closing(sqlite3.connect(self.path, isolation_level=None, factory=_Eager)) as database:
            yield database, self._read(database)

    check = module._check_round

    def dawdle(*arguments: Any) -> None:
        time.sleep(0.003)
        check(*arguments)

    module._check_round = dawdle
    ledger, answers = module._SCHEMAS[module.FORMAT]
    module._SCHEMAS[module.FORMAT] = (ledger, answers.replace(" PRIMARY KEY", ""))
    module._Content.add = lambda self, answer: self.answers.append(answer) or ""
    module._Content.heading = lambda self: (self.latest, "{}", "")
    Ledger._open = unlocked  # type: ignore[method-assign]


class _Eager(sqlite3.Connection):
    """Writes everything at once."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        return super().execute(
            "SELECT 1" if sql in ("BEGIN IMMEDIATE", "COMMIT") else sql, *arguments
        )
