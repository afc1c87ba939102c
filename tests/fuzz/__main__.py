"""Try doors with inputs that nobody meant:

    PYTHONPATH=src:tests python -m fuzz [DOOR ...] [--seed N] [--count N] [--seconds S]

Without a DOOR, all of them are tried, and without a seed, a new one is drawn. Prints the seed, how
attempts ended, and everything that should not be: its case is kept in tests/fuzz/cases, where a
test puts it again, also where it ended the process. `--first` goes on where `--seconds` stopped.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fuzz.doors import DOORS
from fuzz.harness import CASES, draw_case, find_faults, keep_case, processor_seconds

COMMAND = (sys.executable, "-X", "faulthandler", "-m", "fuzz")
_ROOM = 4 << 30
"""Bytes beyond what doors need that may be reserved: what takes more fails, and not the machine."""


def main() -> int:
    """1 if anything was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"of {', '.join(DOORS)}; all")
    parser.add_argument("--count", type=int, default=1_000_000, help="attempts at each door")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seconds", type=float, default=60, help="of the processor, for all doors")
    parser.add_argument("--seed", type=int, help="of what is drawn; a new one by default")
    parser.add_argument("--cases", type=Path, default=CASES, help="the folder of what is found")
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)  # where `try_doors` says it is
    given = parser.parse_args()
    if unknown := set(given.doors) - set(DOORS):
        parser.error(f"no such door: {min(unknown)}")
    given.doors = given.doors or [*DOORS]
    return watch(given) if given.at is None else try_doors(given)


def watch(given: argparse.Namespace, command: Sequence[str] = COMMAND) -> int:
    """Have another process try the doors. A case that ends it is found, too, and the next process
    goes on with the doors behind."""
    seed = int.from_bytes(os.urandom(4)) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    names, found, ends = [*given.doors], 0, processor_seconds() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder, "at")
        while names:
            told = {"seed": seed, "count": given.count, "first": given.first, "cases": given.cases}
            told |= {"seconds": ends - processor_seconds(), "at": at}
            options = [f"--{name}={value}" for name, value in told.items()]
            status = subprocess.run([*command, *names, *options], check=False).returncode
            if status >= 0:
                return found | status
            name, number = at.read_text(encoding="ascii").split()
            door = DOORS[name]()
            kept = keep_case(door, draw_case(door, seed, int(number)), given.cases)
            door.close()
            print(f"{name}: FOUND, number {number}: the process ended by signal {-status}")
            print(f"  kept as {kept}", flush=True)
            names, found = names[names.index(name) + 1 :], 1
    return found


def try_doors(given: argparse.Namespace) -> int:
    """1 if anything was found at the doors that are given."""
    names, ends = given.doors, processor_seconds() + given.seconds
    found = tried = 0
    file = os.open(given.at, os.O_WRONLY | os.O_CREAT, 0o600)
    for place, name in enumerate(names):
        now = processor_seconds()
        share = (ends - now) / (len(names) - place)
        door = DOORS[name]()
        if sys.platform == "linux":
            limit_memory()
        begin = partial(tell, file, name)
        try:
            limits = {"first": given.first, "ends": now + share}
            outcome = find_faults(door, given.count, given.seed, begin=begin, **limits)
            kept = [keep_case(door, case, given.cases) for case in outcome.cases]
        finally:
            door.close()
        first, took = given.first, processor_seconds() - now
        print(f"{name}: numbers {first:,} to {first + outcome.attempts - 1:,} in {took:,.0f} s")
        print("  " + ", ".join(f"{end} {count:,}" for end, count in outcome.ends.most_common()))
        slow, number = outcome.slowest
        peak = f"the process grew by {outcome.growth / 1e6:,.0f} MB"
        print(f"  slowest {slow:.2f} s (number {number}), {peak}")
        for number, what in outcome.findings[:50]:
            print(f"  FOUND, number {number}: {what}")
        for path in dict.fromkeys(kept):
            print(f"  kept as {path}")
        sys.stdout.flush()
        found, tried = found + len(outcome.findings), tried + outcome.attempts
    os.close(file)
    print(f"seed {given.seed}: {tried:,} cases, {found} findings")
    return int(found > 0)


def tell(file: int, name: str, number: int) -> None:
    """Write which case comes next."""
    os.pwrite(file, f"{name} {number:>12}".encode(), 0)


def limit_memory() -> None:
    """Let this process, and those that it starts, reserve some memory more than now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _ROOM, most))


if __name__ == "__main__":
    sys.exit(main())
