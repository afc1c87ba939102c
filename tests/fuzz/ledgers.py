"""The door of a ledger: its file, with changed bytes."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from fuzz.harness import Case, Door, Finding
from fuzz.mutate import change_bytes
from support.giving import yes_or_no
from support.surveys import ANYTHING, RECORD

from ldpsql_device.answer import respond
from ldpsql_device.errors import OperationalError, StoreError
from ldpsql_device.ledger import Ledger
from ldpsql_device.survey import Survey

_TODAY = date(2026, 5, 20)


class Ledgers(Door):
    """Files of ledgers with changed bytes.

    What a device does does not depend on the record; a report given before is given again as it was
    or not at all; and what was spent is not spent once more.
    """

    name = "ledgers"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name, "ledger.sqlite")
        self._first, self._second = yes_or_no("1"), yes_or_no("1", table="other")
        report = respond(self._first, RECORD, policy=ANYTHING, ledger=self._ledger(), today=_TODAY)
        self._given, self._content = report.to_json(), self._path.read_bytes()

    def draw(self, chosen: random.Random) -> Case:
        data = bytearray(self._content)
        if chosen.random() < 0.3:
            return {"data": change_bytes(chosen, bytes(data)), "given": self._given}
        # Most of the file is empty: what is not holds all that was given.
        filled = [place for place, byte in enumerate(data) if byte]
        for _ in range(chosen.choice((1, 1, 2, 3))):
            data[chosen.choice(filled)] ^= 1 << chosen.randrange(8)
        return {"data": bytes(data), "given": self._given}

    def put(self, case: Case) -> str:
        again = {self._answer(case["data"], self._first, answer) for answer in (True, False)}
        if len(again) > 1:
            raise Finding(f"answers depend on the record: {again}")
        [(how, text)] = again
        if how == "report" and text != case["given"]:
            raise Finding(f"another report is given: {text}")
        how_else, text = self._answer(case["data"], self._second, True)
        if how_else == "report":
            raise Finding(f"a spent budget is spent again: {text}")
        return f"{how}, then {how_else}"

    def _answer(self, data: bytes, survey: Survey, answer: bool) -> tuple[str, str]:
        self._path.write_bytes(data)
        record: Mapping[str, Any] = {"positive": answer}
        try:
            report = respond(survey, record, policy=ANYTHING, ledger=self._ledger(), today=_TODAY)
        except (OperationalError, StoreError) as error:
            return type(error).__name__, str(error)
        return "report", report.to_json()

    def _ledger(self) -> Ledger:
        return Ledger(self._path, total=1, per_attribute=1)

    def close(self) -> None:
        self._folder.cleanup()
