"""words: counts the words of files, and how it is used, which leaves the device randomized."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from ldpsql_device import Counters, Error, Ledger, Policy, report

HOME = Path(os.environ.get("WORDS_HOME", Path.home() / ".words"))
COLLECTOR = os.environ.get("WORDS_COLLECTOR")  # without one nothing is ever sent


def main(arguments):
    """Print how many words the files hold, and with --longest the longest one."""
    HOME.mkdir(mode=0o700, exist_ok=True)
    counters = Counters(HOME / "counters")
    counters.set("version", "1.1")
    counters.add("run")
    with counters.time("read"):
        texts = [Path(name).read_text() for name in arguments if name != "--longest"]
    words = " ".join(texts).split()
    if "--longest" in arguments:
        counters.seen("longest")
        print(max(words, key=len, default=""))
    print(len(words))
    if COLLECTOR:
        policy = Policy(max_epsilon=2, tables={"words"})
        ledger = Ledger(HOME / "ledger", total=16, per_attribute=16)
        with suppress(Error):  # a tool does its work whether or not anybody collects
            report(counters, COLLECTOR, "words", policy=policy, ledger=ledger)


if __name__ == "__main__":
    main(sys.argv[1:])
