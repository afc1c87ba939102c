"""Survey files as anybody might write them: any number of columns, sizes, measures and queries."""

from __future__ import annotations

import json
from random import Random

MOST_DIMENSIONS, MOST_CODES, MOST_MEASURES, MOST_PREDICATES, MOST_QUERIES = 20, 2000, 3, 5, 40
_CATEGORIES = 60


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
        kind = random.choice(["int", "int", "int", "category", "bool", "float", "date"])
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
        elif kind == "category":
            lines.append(f"values = {json.dumps([f'v{i}' for i in range(size)])}")
        else:
            size = 2
        columns.append((name, kind, low, size))
    measures = [f"m{number}" for number in range(random.randint(0, MOST_MEASURES))]
    for name in measures:
        bounds = random.choice([[0, 1], [0, 100], [-5, 5], [18, 90]])
        lines += [f"[measure.{name}]", f"bounds = {bounds}"]
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
