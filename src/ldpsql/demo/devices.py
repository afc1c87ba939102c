"""A fleet of devices in one process: `python devices.py ADDRESS TABLE`, with a person's record in
each line of stdin.

Each device answers with `ldpsql_device` alone, and sends its report over a connection of its own.
What the collector has acknowledged is printed.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from ldpsql_device.policy import Policy
from ldpsql_device.respond import respond
from ldpsql_device.survey import Survey

AT_ONCE = 250
"""Devices that send at the same time: each waits until its report is committed."""
PATIENCE = 1.0
"""Seconds before a device sends again what was not taken."""


class Collector:
    """The door of a collector, as a device sees it."""

    def __init__(self, address: str) -> None:
        self._host = urlsplit(address).netloc

    def fetch(self, path: str) -> bytes:
        """What lies at an address; OSError where nothing does."""
        status, body = self._ask("GET", path)
        if status != 200:
            raise OSError(f"the collector answers {status} for {path}")
        return body

    def survey(self, table: str) -> Survey:
        """The survey that is asked now, which must be the one that its fingerprint names."""
        fingerprint = json.loads(self.fetch(f"/v1/tables/{table}"))["fingerprint"]
        survey = Survey.from_json(self.fetch(f"/v1/surveys/{fingerprint}").decode())
        if survey.fingerprint != fingerprint:
            raise OSError(f"the collector sent another survey than {fingerprint}")
        return survey

    def send(self, survey: Survey, line: str) -> None:
        """Send a report until it is acknowledged; OSError where it is refused for good."""
        while True:
            try:
                status, _ = self._ask("POST", f"/v1/surveys/{survey.fingerprint}/reports", line)
            except (OSError, HTTPException):
                status = 503
            if status == 200:
                return
            if status in (410, 422):
                raise OSError(f"the collector refuses a report ({status})")
            time.sleep(PATIENCE)

    def _ask(self, method: str, path: str, line: str | None = None) -> tuple[int, bytes]:
        connection = HTTPConnection(self._host, timeout=30)
        headers = {} if line is None else {"Content-Type": "application/x-ndjson"}
        try:
            connection.request(method, path, line, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def main(address: str, table: str) -> None:
    """Have the people of stdin answer."""
    collector = Collector(address)
    survey, policy = collector.survey(table), Policy(max_epsilon=2)

    def answer(record: str) -> None:
        line = respond(survey, json.loads(record), policy=policy).to_json()
        collector.send(survey, line)
        print(f"{line}\n", end="", flush=True)  # noqa: T201  (in one piece: others print, too)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(answer, sys.stdin):
            pass


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(str(error))
