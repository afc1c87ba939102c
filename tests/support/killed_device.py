"""A device that is killed while it answers: `python -m support.killed_device FOLDER TRIES MODE`.

It forks a child for every survey, kills it at a random moment, and asks again. MODE is "product",
"new" (a new ledger for every survey) or "early" (reports leave before they are kept). Writes, as
JSON, how many children had sent their report ("sent"), how many had not ("silent"), how many
reports a later answer contradicts ("contradicted"), and how many were charged ("spent").
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import Any

from support.giving import PLENTY, sealed_anew, yes_or_no
from support.surveys import ANYTHING

from ldpsql_device import ledger as module
from ldpsql_device.answer import respond
from ldpsql_device.ledger import Ledger
from ldpsql_device.survey import Survey


def answer(asked: Survey, ledger: Ledger) -> str:
    return respond(asked, {"positive": True}, policy=ANYTHING, ledger=ledger).to_json()


def send_before_it_is_kept(pipe: int) -> None:
    """Have the report leave inside the transaction: what a ledger must not do."""
    write = module._write

    def early(database: Any, content: Any, survey: Any, names: Any, *drawn: Any) -> None:
        os.write(pipe, drawn[-1].to_json().encode())
        time.sleep(0.005)
        write(database, content, survey, names, *drawn)

    module._write = early


def killed_answer(asked: Survey, ledger: Ledger, delay: float, *, early: bool) -> str:
    """What a device sent before it was killed; empty if nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if early:
            send_before_it_is_kept(writing)
            answer(asked, ledger)
        else:
            os.write(writing, answer(asked, ledger).encode())
        os._exit(0)
    os.close(writing)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def main(folder: str, tries: str, mode: str) -> None:
    warm = yes_or_no(column="warm")
    started = time.perf_counter()
    respond(warm, {"warm": True}, policy=ANYTHING, ledger=Ledger(f"{folder}/warm", **PLENTY))
    usual = time.perf_counter() - started
    found = {"sent": 0, "contradicted": 0, "silent": 0, "spent": 0}
    ledger = Ledger(f"{folder}/ledger", **PLENTY)
    for number, asked in enumerate(sealed_anew(yes_or_no(), int(tries))):
        if mode == "new":
            ledger = Ledger(f"{folder}/ledger{number}", **PLENTY)
        before = 0 if mode == "new" else ledger.spent()
        sent = killed_answer(asked, ledger, random.uniform(0, usual), early=mode == "early")
        again = answer(asked, ledger)
        found["sent" if sent else "silent"] += 1
        found["contradicted"] += sent not in ("", again) or answer(asked, ledger) != again
        found["spent"] += int(ledger.spent() - before)
        # So that about half of the kills come too late.
        usual *= 0.8 if sent else 1.2
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
