"""Surveys as anybody might write them: what designing 300 random ones takes.

Each is designed in a process of its own, whose processor time and memory the system counts, with
warnings as errors. Results are kept in TARGET as they come: an interrupted run goes on where it
stopped, and LDPSQL_RANDOM_SURVEYS=40 does so many more only. Delete the file to measure anew.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import sys
import warnings
from pathlib import Path
from random import Random
from subprocess import PIPE, Popen
from typing import Any

from benchmarks.tables import print_table
from ldpsql.designer import DesignedSurvey, design_survey
from ldpsql.designer.forecast import sample_queries
from ldpsql.mechanisms.fourier.group import is_coarse

SURVEYS = 300
TARGET = Path("out/random_surveys.jsonl")
MOST_MEMORY, MOST_SECONDS = 6 << 30, 600
"""Of address space and of the processor, at which the system ends a design."""
MOST_DIMENSIONS, MOST_CODES, MOST_MEASURES, MOST_PREDICATES, MOST_QUERIES = 20, 2000, 3, 5, 40
_CATEGORIES, _NULLABLE = 60, 0.2


def check(designed: DesignedSurvey) -> None:
    """AssertionError unless everything asked has an answer, and a finite error."""
    assert math.isfinite(designed.forecast.error)
    for sample in sample_queries(designed.workload, 18):
        for query in sample.queries:
            designed.survey.design.prepare(query)


def measure(text: str) -> dict[str, Any]:
    """What designing a survey file takes: CPU seconds and bytes of a process of its own, imports
    and all, and the problem, None if there is none."""
    command = [sys.executable, "-m", "benchmarks.random_surveys"]
    with Popen(command, stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[1]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text.encode())
        process.stdin.close()
        answer = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    outcome = json.loads(answer) if answer else {"problem": f"ended with status {status}"}
    seconds = usage.ru_utime + usage.ru_stime
    return {"seconds": seconds, "bytes": usage.ru_maxrss * 1024, **outcome}


def design_one(text: str) -> dict[str, Any]:
    """Within limits, with warnings as errors; the problem is in words."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    warnings.simplefilter("error")
    try:
        designed = design_survey(text)
        check(designed)
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}"}
    return {
        "problem": None,
        "mechanism": designed.survey.design.name,
        "error": designed.forecast.error,
        "reduced": any(" is reduced to " in note for note in designed.notes),
        "merged": any("no declared query tells" in note for note in designed.notes),
        "coarse": is_coarse(designed.survey.design),
    }


def run() -> None:
    """Design those that are missing, and print what all took."""
    TARGET.parent.mkdir(exist_ok=True)
    known = (
        [json.loads(line) for line in TARGET.read_text().splitlines()] if TARGET.exists() else []
    )
    done = {entry["seed"] for entry in known}
    more = int(os.environ.get("LDPSQL_RANDOM_SURVEYS", SURVEYS))
    for seed in [seed for seed in range(SURVEYS) if seed not in done][:more]:
        known.append({"seed": seed, **measure(random_survey(seed))})
        with TARGET.open("a") as file:
            file.write(json.dumps(known[-1]) + "\n")
        print(f"{seed}: {known[-1]['seconds']:.1f} s", file=sys.stderr)
    problems = [entry for entry in known if entry["problem"]]
    rows = []
    for what, unit, name in (("seconds", 1.0, "CPU seconds"), ("bytes", 1e9, "memory, GB")):
        values = sorted(entry[what] / unit for entry in known)
        high = values[min(len(values) - 1, int(0.95 * len(values)))]
        rows.append((name, statistics.median(values), high, values[-1]))
    print_table(
        f"Designs of {len(known)} random surveys, of which {len(problems)} failed",
        ["", "median", "95th percentile", "largest"],
        [[name, *(f"{value:.2f}" for value in values)] for name, *values in rows],
    )
    kinds = {
        "reduced": "fewer predicates than asked for",
        "merged": "values merged that no query tells apart",
        "coarse": "dimensions in bins",
    }
    for kind, text in kinds.items():
        print(f"{text}, with the reason printed: {sum(bool(e.get(kind)) for e in known)}")
    for entry in problems:
        print(f"seed {entry['seed']}: {entry['problem']}")


# -- the surveys -----------------------------------------------------------------------------------


def random_survey(seed: int, *, codes: int = MOST_CODES, dimensions: int = MOST_DIMENSIONS) -> str:
    """A survey file in TOML; the same for the same seed.

    Sizes of dimensions are spread evenly on a logarithmic scale from 2 to `codes`; a third of the
    files declares SQL alone, a third classes alone, and a third both.
    """
    random = Random(seed)
    epsilon = random.choice(["0.25", "0.5", "1", "2", "4"])
    lines = ["[survey]", 'table = "t"', f'epsilon = "{epsilon}"']
    columns = []
    for number in range(random.randint(1, dimensions)):
        size = max(2, round(2.0 * (codes / 2.0) ** random.random()))
        kind = random.choice(["int"] * 4 + ["category", "bool", "float", "date", "timestamp"])
        kind = "int" if kind == "category" and size > _CATEGORIES else kind
        size += size % 2 if kind == "float" else 0
        name, low = f"c{number}", random.choice([0, 1, 18, -50])
        lines += [f"[dimension.{name}]", f'type = "{kind}"']
        if kind == "int":
            lines.append(f"domain = [{low}, {low + size - 1}]")
        elif kind == "float":
            lines += ["domain = [0.0, 100.0]", f"bins = {size}"]
        elif kind == "date":
            size = random.choice([12, 24, 60])
            last = f"{2020 + (size - 1) // 12}-12-31"
            lines += [f'range = ["2020-01-01", "{last}"]', 'unit = "month"']
        elif kind == "timestamp":
            size = 24 * random.randint(1, 3)
            lines.append(f'range = ["2026-03-01", "2026-03-{size // 24:02d}"]')
            lines.append('unit = "hour"')
        elif kind == "category":
            lines.append(f"values = {json.dumps([f'v{i}' for i in range(size)])}")
        else:
            size = 2
        if random.random() < _NULLABLE:
            lines.append('missing = "code"')
        columns.append((name, kind, low, size))
    measures = [f"m{number}" for number in range(random.randint(0, MOST_MEASURES))]
    for name in measures:
        bounds = random.choice([[0, 1], [0, 100], [-5, 5], [18, 90]])
        lines += [f"[measure.{name}]", f"bounds = {bounds}", "required = true"]
        lines.append(f"missing_as = {max(bounds[0], 0)}")
    form = random.choice(["sql", "classes", "both"])
    lines.append("[workload]")
    most = min(random.randint(1, MOST_PREDICATES), len(columns))
    if form != "classes":
        count = random.randint(1, MOST_QUERIES)
        texts = [_random_query(random, columns, measures, most) for _ in range(count)]
        lines.append(f"queries = {json.dumps(texts)}")
    if form != "sql":
        lines.append(f"max_predicates = {most}")
    return "\n".join(lines) + "\n"


def _random_query(
    random: Random, columns: list[tuple[str, str, int, int]], measures: list[str], most: int
) -> str:
    """One SELECT with at most so many predicates, one of them a GROUP BY at times."""
    chosen = random.sample(columns, random.randint(1, most))
    aggregates = ["COUNT(*)", *(f"{f}({m})" for f in ("SUM", "AVG") for m in measures)]
    aggregate, keys, predicates = random.choice(aggregates), [], []
    for name, kind, low, size in chosen:
        if size <= 300 and len(keys) < 2 and random.random() < 0.3:
            keys.append(name)
        else:
            predicates.append(_random_predicate(random, name, kind, low, size))
    where = f" WHERE {' AND '.join(predicates)}" if predicates else ""
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, aggregate])} FROM t{where}{grouped}"


def _random_predicate(random: Random, name: str, kind: str, low: int, size: int) -> str:
    """A range, one end of one, an equality, or a list."""
    if kind == "bool":
        return f"{name} = {random.choice(['TRUE', 'FALSE'])}"
    if kind == "category":
        some = random.sample(range(size), random.randint(1, max(1, min(size - 1, 4))))
        return f"{name} IN ({', '.join(repr(f'v{i}') for i in some)})"
    if kind == "timestamp":
        hour = random.randrange(1, size)  # what holds for everybody is known
        return f"{name} >= TIMESTAMP '2026-03-{1 + hour // 24:02d} {hour % 24:02d}:00:00'"
    first, last = sorted((random.randrange(size), random.randrange(size)))
    if kind == "float":
        return f"{name} {random.choice(['>=', '<'])} 50.0"  # an edge of an even number of bins
    if kind == "date":
        first = max(first, 1)  # what holds for everybody is known
        return f"{name} >= DATE '{2020 + first // 12}-{first % 12 + 1:02d}-01'"
    last -= last == size - 1 and first == 0
    first = min(first, last)
    form = random.randrange(4)
    if form == 0:
        return f"{name} BETWEEN {low + first} AND {low + last}"
    if form == 1:
        return f"{name} <= {low + min(first, size - 2)}"
    if form == 2:
        return f"{name} = {low + first}"
    return f"{name} IN ({low + first}, {low + last})"


if __name__ == "__main__":
    print(json.dumps(design_one(sys.stdin.read())))
