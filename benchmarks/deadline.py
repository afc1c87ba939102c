"""How long statements with very many of anything take, where they may take a second.

The inputs are those that tests walk (`tests/support/heavy_statements.py`), each in two sizes.
Deadlines count the processor time of this process: what else the machine does changes nothing.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial
from pathlib import Path

from benchmarks.tables import print_table
from ldpsql import limits
from ldpsql_device.errors import Error

TESTS = Path(__file__).parents[1] / "tests"
TIMEOUT = 1.0


def run() -> None:
    """Print, of answered and refused inputs, how many there are, and the slowest."""
    sys.path.append(str(TESTS))
    from support.heavy_statements import list_cases  # noqa: PLC0415  (tests are no package)
    from support.shoppers import shoppers  # noqa: PLC0415

    plain = limits.deadline
    limits.deadline = partial(plain, clock=time.process_time)
    found: dict[str, list[tuple[float, str]]] = {"answered": [], "refused": [], "too late": []}
    try:
        with shoppers(people=200) as session:
            session.seconds = TIMEOUT
            session.execute("SELECT COUNT(*) FROM shoppers")
            for name, make in list_cases():
                statement, ending = make(), "answered"
                begun = time.process_time()
                try:
                    session.execute(*statement)
                except Error as error:
                    ending = "too late" if "took longer than" in str(error) else "refused"
                found[ending].append((time.process_time() - begun, name))
    finally:
        limits.deadline = plain
    rows = [
        (
            *(ending, len(own), f"{statistics.median(took for took, _ in own):.2f}"),
            *(f"{max(own)[0]:.2f}", max(own)[1]),
        )
        for ending, own in found.items()
        if own
    ]
    head = ("inputs", "number", "median s", "slowest s", "the slowest")
    print_table("Very many of anything at a deadline of a second", head, rows)
