"""A fleet of devices in one process: `python devices.py ADDRESS TABLE`, with a person's record in
each line of stdin.

Each device answers with `ldpsql_device` alone, and sends its report over a connection of its own.
What the collector has acknowledged is printed.
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
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report
from ldpsql_device.survey import Survey

AT_ONCE = 250
"""Devices that send at the same time: each waits until its report is committed."""
PATIENCE = 1.0
"""Seconds before a device sends again what was not taken."""


def send(collector: Collector, survey: Survey, report: Report, parent: int) -> None:
    """Send a report until it is acknowledged; ReportError where it is refused for good, and once
    the process `parent`, which started the devices, has ended."""
    while not (sent := collector.send(survey, [report])).settled:
        if os.getppid() != parent:  # it was killed, and its collector has ended with it
            raise ReportError("the demonstration that started these devices has ended")
        time.sleep(sent.pause or PATIENCE)
    if sent.refused:
        raise ReportError("the collector refuses a report of its own survey")


def main(address: str, table: str) -> None:
    """Have the people of stdin answer."""
    collector, policy, parent = Collector(address), Policy(max_epsilon=2), os.getppid()
    survey, statement = collector.fetch(table, policy=policy)

    def answer(record: str) -> None:
        report = respond(survey, json.loads(record), policy=policy, statement=statement)
        send(collector, survey, report, parent)
        print(f"{report.to_json()}\n", end="", flush=True)  # noqa: T201  (in one piece: others print, too)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(answer, sys.stdin):
            pass


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Error as error:
        sys.exit(str(error))
