"""Four weeks of made-up installations of `words`, and the reports that they give: one line each."""

import random
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

from ldpsql_device import Counters, Ledger, Policy, Survey
from ldpsql_device.events import answer_periods

WEEKS, DAY, EPOCH = 4, 86_400, date(1970, 1, 1)
POLICY = Policy(max_epsilon=2, tables={"words"})


def simulate(survey, folder, last):
    """The reports of one installation, for the weeks that ended before a day."""
    today = [last - timedelta(weeks=WEEKS)]
    counters = Counters(folder / "counters", clock=lambda: (today[0] - EPOCH).days * DAY + DAY // 2)
    is_busy, likes_longest = random.random() < 0.6, random.random() < 0.3
    while today[0] < last:
        counters.set("version", random.choice(["1.0", "1.1", "1.1"]))
        for _ in range(random.randrange(5) if is_busy else 0):
            counters.add("run")
            counters.observe("read", random.lognormvariate(3.5, 1))
            if likes_longest:
                counters.seen("longest")
        if today[0].weekday() == 0:
            counters.flush()  # or the file would begin later
        today[0] += timedelta(days=1)
    ledger = Ledger(folder / "ledger", total=16, per_attribute=16)
    yield from answer_periods(survey, counters, policy=POLICY, ledger=ledger)
    counters.close()


def main(installations, source, target):
    """Write the reports of so many installations to a file, by a survey in another."""
    survey, last = Survey.from_json(Path(source).read_text()), date.today()
    last -= timedelta(days=last.weekday())  # the running week has not ended
    with Path(target).open("w") as file, tempfile.TemporaryDirectory() as place:
        for number in range(int(installations)):
            folder = Path(place, str(number))
            folder.mkdir()
            for _, report in simulate(survey, folder, last):
                file.write(report.to_json() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
