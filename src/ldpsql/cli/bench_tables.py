"""Public. Sees errors, and no single value. The results of a comparison as tables of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ldpsql.bench.summary import COSTS, Line

UNSOUND = " (NOT PRIVATE)"
_Group = tuple[int, str, str]


def error_of(line: Line) -> float:
    """The error that is shown: in % of all people or of the total, else in % of the answer."""
    if math.isfinite(line.errors.nmse):
        return 100.0 * math.sqrt(line.errors.nmse)
    return 100.0 * line.errors.mre


def measure_of(line: Line) -> str:
    """What `error_of` is, in words."""
    if line.aggregate.startswith("COUNT"):
        return "root mean square error, % of the people"
    if math.isfinite(line.errors.nmse):
        return "root mean square error, % of the sum over everybody"
    return "mean relative error, %"


def label_of(line: Line) -> str:
    """The mechanism, marked where it promises nothing, or less than others."""
    if not line.sound:
        return line.mechanism + UNSOUND
    return f"{line.mechanism} (ULDP)" if "ULDP" in line.guarantee else line.mechanism


def grouped(lines: Sequence[Line]) -> dict[_Group, list[Line]]:
    """By people, workload and aggregate."""
    groups: dict[_Group, list[Line]] = {}
    for line in lines:
        groups.setdefault((line.users, line.workload, line.aggregate), []).append(line)
    return groups


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """One table per number of people, workload and aggregate: mechanisms by epsilon."""
    for (users, workload, aggregate), members in grouped(lines).items():
        title = f"{aggregate}, {workload}, {users:,} people: {measure_of(members[0])}"
        yield "\n".join([title, *aligned(*rows_of(members)), ""])


def rows_of(members: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of one table, the most accurate sound mechanism first."""
    epsilons = sorted({line.epsilon for line in members})
    by_name: dict[str, dict[float, Line]] = {}
    for line in members:
        by_name.setdefault(label_of(line), {})[line.epsilon] = line
    has_null = any(line.errors.undetermined > 0 for line in members)
    columns = [f"eps {epsilon:g}" for epsilon in epsilons]
    head = ["mechanism", *columns, "intervals hold", f"+/- ({columns[-1]})"]
    rows = []
    for name in sorted(by_name, key=lambda name: _rank(by_name[name])):
        own = by_name[name]
        cells = [_short(error_of(own[e])) if e in own else "-" for e in epsilons]
        every = list(own.values())
        held = _mean([line.errors.coverage for line in every])
        half = own[epsilons[-1]].errors.width / 2 if epsilons[-1] in own else math.nan
        row = [name, *cells, "-" if math.isnan(held) else f"{100 * held:.1f} %", _short(half)]
        if has_null:
            row.append(f"{100 * _mean([line.errors.undetermined for line in every]):.0f} %")
        rows.append(row)
    return head + (["NULL"] if has_null else []), rows


def costs(lines: Sequence[Line]) -> str:
    """What each mechanism costs: seconds by kind of work, and the size of a report."""
    return "\n".join(["Cost of one run, seconds", *aligned(*cost_rows(lines)), ""])


def cost_rows(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the largest number of people, means over the epsilons."""
    most = max(line.users for line in lines)
    by_name: dict[str, dict[float, Line]] = {}
    for line in lines:
        if line.users == most:
            by_name.setdefault(label_of(line), {})[line.epsilon] = line
    rows = []
    for name, own in by_name.items():
        seconds = [_mean([line.seconds.get(work, 0.0) for line in own.values()]) for work in COSTS]
        bits = max(line.bits for line in own.values())
        stored = max(line.bytes for line in own.values())
        rows.append([name, *(f"{value:.2f}" for value in seconds), f"{bits:.1f}", str(stored)])
    return ["mechanism", *COSTS, "bits/report", "bytes stored"], rows


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of text: words at the left, numbers at the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]


def _rank(own: dict[float, Line]) -> tuple[bool, float]:
    shown = [error_of(line) for line in own.values()]
    known = [math.log(max(error, 1e-12)) for error in shown if math.isfinite(error)]
    unsound = not next(iter(own.values())).sound
    return unsound, _mean(known) if known else math.inf


def _short(value: float) -> str:
    """Three significant digits."""
    if not math.isfinite(value):
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
