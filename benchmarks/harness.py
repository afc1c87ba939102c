"""What `ldpsql bench` adds to what it measures, and whether its numbers are those predicted."""

from __future__ import annotations

import functools
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.tables import print_table
from benchmarks.timing import by_clocks
from ldpsql.bench.candidates import read_candidates
from ldpsql.bench.harness import ComparisonPlan, compare
from ldpsql.bench.questions import Wanted
from ldpsql.bench.summary import lines
from ldpsql.bench.truth import People
from ldpsql.boxes import LinearQuery
from ldpsql.designer.file import read_file
from ldpsql.engine.where import slices
from ldpsql.simulation import simulate
from ldpsql_device.epsilon import Epsilon

SURVEY = """
[survey]
table = "people"
epsilon = "{}"
[dimension.age]
type = "int"
domain = [0, 63]
[dimension.region]
type = "int"
domain = [0, 15]
"""
REPETITIONS = 5  # the default of `ldpsql bench`
TARGET = Path("out/harness.json")


def comparison(
    people: int, name: str, epsilon: str, repetitions: int, queries: int
) -> ComparisonPlan:
    """Counts over ranges of one and two dimensions, people spread evenly."""
    file = read_file(SURVEY.format(epsilon))
    random = np.random.default_rng(3)
    table = pa.table(
        {"age": random.integers(0, 64, people), "region": random.integers(0, 16, people)}
    )
    wanted = Wanted(("ranges",), (1, 2), 0.25, queries, ("count",))
    return ComparisonPlan(
        file,
        People(table),
        wanted.questions(file),
        read_candidates([name]),
        (epsilon,),
        repetitions=repetitions,
    )


def overhead(people: int, name: str, queries: int, runs: int = 3) -> dict[str, float]:
    """Seconds of this process with the harness and by hand, and the median of their ratios."""
    asked = comparison(people, name, "1", REPETITIONS, queries)

    def harnessed() -> None:
        with tempfile.TemporaryDirectory() as folder:
            compare(asked, Path(folder))

    def by_hand() -> None:
        survey = asked.candidates[0].survey(asked.file, Epsilon.parse("1"), people)
        for seed in range(REPETITIONS):
            with simulate(survey, asked.people.table, seed=seed) as connection:
                for question in asked.questions:
                    _ = connection.execute(question.sql).result

    (pair,) = by_clocks(harnessed, by_hand, (time.process_time,), runs=runs)
    return {"harness": pair.ours, "by hand": pair.other, "ratio": pair.ratio}


def agreement(epsilon: str, repetitions: int, people: int = 10_000) -> dict[str, float]:
    """HIO's mean square error and that of its claimed errors, over the variance predicted."""
    asked = comparison(people, "hio", epsilon, repetitions, 20)
    with tempfile.TemporaryDirectory() as folder:
        found = lines(compare(asked, Path(folder)))
    design = asked.candidates[0].survey(asked.file, Epsilon.parse(epsilon), people).design
    predicted: dict[str, list[float]] = {}
    for question in asked.questions:
        boxes = slices(question.query.predicate, asked.file.schema, question.sql)[0].boxes
        planned = design.prepare(LinearQuery.count(*boxes))
        variance = float(design.variance([planned], people)[0])
        predicted.setdefault(question.workload, []).append(variance)
    return {
        "measured": float(np.mean([n.errors.mse / np.mean(predicted[n.workload]) for n in found])),
        "claimed": float(
            np.mean([n.errors.claimed**2 / np.mean(predicted[n.workload]) for n in found])
        ),
        "coverage": float(np.mean([line.errors.coverage for line in found])),
    }


def run(repetitions: int = 100) -> None:
    """Print both tables, and keep the numbers for docs/results.md."""
    sizes = ((20_000, "hio", 40), (100_000, "hio", 40), (100_000, "fourier", 40))
    costs = [(people, name, overhead(people, name, count)) for people, name, count in sizes]
    print_table(
        f"What the harness adds: CPU seconds of {REPETITIONS} repetitions of 80 questions",
        ("people", "mechanism", "with the harness", "by hand", "ratio"),
        (
            (f"{n:,}", name, f"{c['harness']:.2f}", f"{c['by hand']:.2f}", f"{c['ratio']:.3f}")
            for n, name, c in costs
        ),
    )
    measure = functools.partial(agreement, repetitions=repetitions)
    agreements = {epsilon: measure(epsilon) for epsilon in ("0.5", "1", "2")}
    print()
    print_table(
        f"HIO over its predicted variance: 10,000 people, 40 ranges, {repetitions} runs",
        ("epsilon", "mean square error", "claimed variance", "intervals that hold"),
        (
            (
                epsilon,
                f"{a['measured']:.3f}",
                f"{a['claimed']:.3f}",
                f"{100 * a['coverage']:.1f} %",
            )
            for epsilon, a in agreements.items()
        ),
    )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(
        json.dumps(
            {"overhead": costs, "agreement": agreements, "repetitions": repetitions}, indent=1
        )
    )


if __name__ == "__main__":
    run()
