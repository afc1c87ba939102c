"""A device that is killed while it answers: `python -m support.killed_device FOLDER TRIES MODE`.

It forks a child for every survey, kills it at a random moment, and asks again. Writes as JSON how
many children had sent their report ("sent"), how many of those a second answer contradicts
("contradicted"), how many had not ("silent"), and the sum that the ledger holds ("spent").
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from support.giving import PLENTY, sealed_anew, yes_or_no
from support.surveys import ANYTHING

from ldpsql_device import ledger as module
from ldpsql_device.ledger import Ledger
from ldpsql_device.respond import Report, respond
from ldpsql_device.survey import Survey


def answer(asked: Survey, ledger: Ledger) -> str:
    return respond(asked, {"positive": True}, policy=ANYTHING, ledger=ledger).to_json()


def send_before_it_is_kept(pipe: int) -> None:
    """Have the report leave inside the transaction: what a ledger must not do."""
    write = module._write

    def early(database: Any, survey: Any, names: Any, day: Any, report: Report) -> None:
        os.write(pipe, report.to_json().encode())
        time.sleep(0.005)
        write(database, survey, names, day, report)

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
    ledger = Ledger(Path(folder) / "ledger", **PLENTY)
    surveys = list(sealed_anew(yes_or_no(), int(tries)))
    started = time.perf_counter()
    (warm,) = sealed_anew(yes_or_no(column="warm"), 1)
    for _ in range(2):
        respond(warm, {"warm": True}, policy=ANYTHING, ledger=ledger)
    usual = time.perf_counter() - started
    found = {"sent": 0, "contradicted": 0, "silent": 0}
    for asked in surveys:
        delay = random.uniform(0, usual)
        sent = killed_answer(asked, ledger, delay, early=mode == "early")
        again = answer(asked, ledger)
        found["sent" if sent else "silent"] += 1
        found["contradicted"] += bool(sent) and sent != again
        found["contradicted"] += answer(asked, ledger) != again
        # So that about half of the kills come too late.
        usual *= 0.8 if sent else 1.2
    sys.stdout.write(json.dumps({**found, "spent": int(ledger.spent())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
