"""A fleet of devices in one process: `python devices.py ADDRESS TABLE [SHUFFLER KEY]`, with a
person's record in each line of stdin.

Each device answers with `ldpsql_device` alone, and sends its report over a connection of its own.
What was acknowledged is printed. With the address and the public key of a shuffler, devices trust
who has that key, and send it reports that nobody else can read.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from ldpsql_device.answer import respond
from ldpsql_device.collector import Collector
from ldpsql_device.errors import Error, ReportError
from ldpsql_device.pledge import Sealed
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report
from ldpsql_device.survey import Survey

AT_ONCE = 250
"""Devices that send at the same time: each waits until its report is committed."""
PATIENCE = 1.0
"""Seconds before a device sends again what was not taken."""


def send(collector: Collector, survey: Survey, report: Report | Sealed, parent: int) -> None:
    """Send a report until it is acknowledged; ReportError where it is refused for good, and once
    the process `parent`, which started the devices, has ended."""
    while not (sent := collector.send(survey, [report])).settled:
        if os.getppid() != parent:  # it was killed, and its collector has ended with it
            raise ReportError("the demonstration that started these devices has ended")
        time.sleep(sent.pause or PATIENCE)
    if sent.refused:
        raise ReportError("the collector refuses a report of its own survey")


def main(address: str, table: str, shuffler: str = "", *keys: str) -> None:
    """Have the people of stdin answer."""
    policy, parent = Policy(max_epsilon=2, shufflers=set(keys)), os.getppid()
    survey, statement = Collector(address).fetch(table, policy=policy)
    receiver = Collector(shuffler or address)
    pledge = receiver.fetch_pledge(survey) if shuffler else None

    def answer(record: str) -> None:
        given = survey, json.loads(record)
        report: Report | Sealed
        if pledge is None:
            report = respond(*given, policy=policy, statement=statement)
        else:
            report = respond(*given, policy=policy, statement=statement, pledge=pledge)
        send(receiver, survey, report, parent)
        print(f"{report.to_json()}\n", end="", flush=True)  # noqa: T201  (in one piece: others print, too)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(answer, sys.stdin):
            pass


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Error as error:
        sys.exit(str(error))
