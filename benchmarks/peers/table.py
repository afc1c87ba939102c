"""The table of the common work: errors, and ratios to our default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.figures.cases import Row
from benchmarks.peers.ours import DEFAULT, MECHANISMS, SMOOTH
from benchmarks.peers.work import DATA, SHAPES

BIASED = (SMOOTH, "ahead", "multi-freq-ldpy")
POOL = "pure-ldp"
NOT_RUN = "-"


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Markdown: a table per number of people, then why some cannot do a task.

    Ratios are of errors with the same number of people: those of biased estimators do not shrink
    with its root.
    """
    for people in dict.fromkeys(row["people"] for row in rows):
        yield from _table(people, [row for row in rows if row["people"] == people])
        yield ""
    biased = [name for name in dict.fromkeys(row["name"] for row in rows) if name in BIASED]
    has_pool = any(row["name"] == POOL and not row["why"] for row in rows)
    if biased:
        yield (
            f"(b): biased ({'; '.join(biased)}), because negative frequencies are made 0 or more; "
            f"the others are unbiased{f', {POOL} nearly so' if has_pool else ''}. Bias pays where "
            "the noise is larger than the answer, so compare like with like: "
            f"{SMOOTH} with these, {DEFAULT} with the others. "
            f"{NOT_RUN}: not run."
        )
        yield ""
    if has_pool:
        yield (
            f"{POOL}: fast local hashing over all cells, of which ranges are sums; its estimator "
            "is unbiased except for the collisions of a pool of hash functions that everybody "
            "shares, an error that does not shrink with more people."
        )
        yield ""
    yield from _reasons(rows)


def _table(people: int, rows: Sequence[Row]) -> Iterator[str]:
    others = [name for name in dict.fromkeys(row["name"] for row in rows) if name != DEFAULT]
    yield (
        f"{people:,} people. {DEFAULT}: root mean square error in % of the people; the others: "
        "their error divided by that one, so that above 1 means less accurate."
    )
    yield ""
    yield f"| shape | data | epsilon | {DEFAULT} | {' | '.join(map(_marked, others))} |"
    yield f"|---|---|---:|---:|{'---:|' * len(others)}"
    tasks: dict[tuple[str, str, float], dict[str, Row]] = {}
    for row in rows:
        tasks.setdefault((row["shape"], row["data"], row["epsilon"]), {})[row["name"]] = row
    for (shape, data, epsilon), found in sorted(tasks.items(), key=_place):
        ours = found.get(DEFAULT)
        if ours is not None and not ours["why"]:
            cells = [_ratio(found.get(name), ours) for name in others]
            error = f"{100 * ours['error']:.3f} %"
            yield f"| {shape} | {data} | {epsilon:g} | {error} | {' | '.join(cells)} |"


def _place(item: tuple[tuple[str, str, float], object]) -> tuple[int, int, float]:
    (shape, data, epsilon), _ = item
    return list(SHAPES).index(shape), DATA.index(data), epsilon


def _marked(name: str) -> str:
    return f"{name} (b)" if name in BIASED else name


def _ratio(row: Row | None, ours: Row) -> str:
    if row is None:
        return NOT_RUN
    return "no" if row["why"] else f"{row['error'] / ours['error']:.2f}"


def _reasons(rows: Sequence[Row]) -> Iterator[str]:
    seen: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["why"]:
            shapes = seen.setdefault((row["name"], row["why"]), [])
            if row["shape"] not in shapes:
                shapes.append(row["shape"])
    for (name, why), shapes in seen.items():
        where = "" if name in MECHANISMS else " (peer)"
        yield f"* no: {name}{where}, {'; '.join(shapes)}: {why}"
