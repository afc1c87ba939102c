"""The most frequent of very many items: how many of the top 20 one statement finds, and its cost.

People draw items by Zipf's law with the exponent 1.1, epsilon is 2, and the mechanism is chosen by
`auto`. "cpu" is the processor time of the statement, without design, randomizing and ingestion;
"joint" the share of draws in which all intervals shown hold the truth.

    python -m benchmarks.items --items 100000 --draws 20
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql_lab.simulation import collect

TOP = 20
SURVEY = """
[survey]
table = "app"
epsilon = "2"
users = {people}
[dimension.item]
type = "int"
domain = [0, {last}]
[workload.kinds]
item = "equality"
"""
QUESTION = f"SELECT item, COUNT(*) AS n FROM app GROUP BY item ORDER BY 2 DESC LIMIT {TOP}"


def main() -> None:
    """Print one line per draw and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--exponent", type=float, default=1.1)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw, its seed")
    given = parser.parse_args()
    made = design(SURVEY.format(people=given.people, last=given.items - 1))
    shares = np.arange(1, given.items + 1) ** -given.exponent
    shares /= shares.sum()
    rows = []
    for draw in range(given.first, given.first + given.draws):
        random = np.random.default_rng(draw)
        names = random.permutation(given.items)
        people = names[random.choice(given.items, given.people, p=shares)]
        truth = np.bincount(people, minlength=given.items)
        with collect(made, pa.table({"item": people}), seed=draw)[1] as store:
            started = time.process_time()
            found = Session(store, seconds=3600.0).execute(QUESTION)
            cpu = time.process_time() - started
        shown, bars = found.table["item"].to_numpy(), found.intervals[1]
        holds = bool(((bars.low <= truth[shown]) & (truth[shown] <= bars.high)).all())
        rows.append((len(set(shown) & set(names[:TOP])), cpu, holds))
        print(f"{made.design.name}: {rows[-1][0]} of {TOP}, {cpu:.1f} s, joint {holds}", flush=True)
    hits, cpu, joint = np.mean(np.array(rows, dtype=float), axis=0)
    print(f"mean of {given.draws}: {hits:.2f} of {TOP}, {cpu:.1f} s, joint {joint:.0%}")


if __name__ == "__main__":
    main()
