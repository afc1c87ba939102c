"""The table of the common work: errors, and ratios to our default."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from benchmarks.figures.cases import Row
from benchmarks.peers.ours import DEFAULT, MECHANISMS


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Markdown: a row per shape, data and epsilon; then why peers are missing.

    The errors of a peer that was run with fewer people than we were are scaled to as many of
    them by the root of the ratio.
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    others = [name for name in names if name != DEFAULT]
    yield f"| shape | data | epsilon | {DEFAULT}, RMSE | {' | '.join(others)} |"
    yield f"|---|---|---:|---:|{'---:|' * len(others)}"
    tasks: dict[tuple[str, str, float], dict[str, Row]] = {}
    for row in rows:
        tasks.setdefault((row["shape"], row["data"], row["epsilon"]), {})[row["name"]] = row
    for (shape, data, epsilon), found in sorted(
        tasks.items(), key=lambda item: list(tasks).index(item[0])
    ):
        ours = found.get(DEFAULT)
        if ours is None or ours["why"]:
            continue
        cells = [_ratio(found.get(name), ours) for name in others]
        error = f"{100 * ours['error']:.3f} %"
        yield f"| {shape} | {data} | {epsilon:g} | {error} | {' | '.join(cells)} |"
    yield ""
    yield from _scaled(rows)
    yield from _reasons(rows)


def _ratio(row: Row | None, ours: Row) -> str:
    if row is None:
        return ""
    if row["why"]:
        return "no"
    scaled = row["error"] * math.sqrt(row["people"] / ours["people"])
    return f"{scaled / ours['error']:.2f}"


def _scaled(rows: Sequence[Row]) -> Iterator[str]:
    people = {name: row["people"] for row in rows for name in [row["name"]] if not row["why"]}
    most = people.get(DEFAULT, 0)
    fewer = [name for name, count in people.items() if count != most]
    yield (
        f"The columns after {DEFAULT} are root mean square errors over its own; "
        f"above 1 means less accurate. {most:,} people."
    )
    if fewer:
        yield (
            f"{', '.join(fewer)}: measured with {people[fewer[0]]:,} people, errors scaled by the "
            "root of the ratio."
        )
    yield ""


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
