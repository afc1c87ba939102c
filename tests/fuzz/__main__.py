"""Try doors with inputs that nobody meant:

    PYTHONPATH=src:tests python -m fuzz [DOOR ...] [--count N | --seconds S]

Doors are sql, reports, parquet, bodies and surveys; without any, all of them are tried. Prints how
attempts ended, and everything that should not be, with its number: `--first` repeats it, and goes
on where `--seconds` stopped.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

from fuzz.doors import DOORS
from fuzz.harness import find_faults

_ROOM = 4 << 30
"""Bytes beyond what doors need that may be reserved: what takes more fails, and not the machine."""


def main() -> int:
    """1 if anything was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"of {', '.join(DOORS)}; all")
    parser.add_argument("--count", type=int, default=100_000, help="attempts at each door")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, for each")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if unknown := set(given.doors) - set(DOORS):
        parser.error(f"no such door: {min(unknown)}")
    found = 0
    for name in given.doors or DOORS:
        door, started = DOORS[name](), time.monotonic()
        if sys.platform == "linux":
            limit_memory()
        try:
            outcome = find_faults(
                door, given.count, given.seed, first=given.first, ends=started + given.seconds
            )
        finally:
            door.close()
        took = time.monotonic() - started
        numbers = f"{given.first:,} to {given.first + outcome.attempts - 1:,}"
        print(f"{name}: numbers {numbers} of seed {given.seed} in {took:,.0f} s")
        print("  " + ", ".join(f"{end} {count:,}" for end, count in outcome.ends.most_common()))
        slow, number = outcome.slowest
        peak = f"its peak grew by {outcome.growth / 1e6:,.0f} MB"
        print(f"  slowest {slow:.2f} s (number {number}), {peak}")
        for number, what in outcome.findings[:50]:
            print(f"  FOUND, number {number}: {what}")
        sys.stdout.flush()
        found += len(outcome.findings)
    return int(found > 0)


def limit_memory() -> None:
    """Let this process, and those that it starts, reserve some memory more than now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _ROOM, most))


if __name__ == "__main__":
    sys.exit(main())
