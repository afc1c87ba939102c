"""Public. Sees parameters. The mechanisms that `auto` compared, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from ldpsql.cli.figures import significant
from ldpsql.designer.auto import Candidate, Choice

_MOST_KINDS, _HEADING = 6, 14
_ROUNDS = "1"  # every mechanism of the registry asks a person once

Row = list[str]


def comparison(choice: Choice, people: int) -> list[str]:
    """Lines: one row per mechanism, the chosen one first, and what was left out and why."""
    kinds = [entry.text for entry in choice.best.forecast.expected(_MOST_KINDS)]
    if len(kinds) > _MOST_KINDS:
        kinds = []
    has_bound = choice.best.forecast.ratio(choice.bound) is not None
    head = ["mechanism", "whole workload", *kinds, *(["of least"] if has_bound else [])]
    head += ["bits", "rounds", "guarantee", "options"]
    rows = [_row(candidate, choice, len(kinds)) for candidate in choice.ranked]
    lines = [f"expected standard errors with {people} people, by mechanism:"]
    lines += _table(head, rows)
    coarse = [candidate.name for candidate in choice.ranked if _is_coarse(candidate)]
    if coarse:
        lines.append(
            f"  not in these errors: {', '.join(coarse)} counts the people of a coarse bin as "
            "spread evenly in it; where a range ends inside one, it can be off by some of them"
        )
    return lines + _left_out(choice.left_out)


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    """One line for all mechanisms with the same reason, which may begin with their name."""
    alike: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        alike.setdefault(reason.removeprefix(name).lstrip(": "), []).append(name)
    return [f"  left out: {', '.join(names)}: {reason}" for reason, names in alike.items()]


def _row(candidate: Candidate, choice: Choice, kinds: int) -> Row:
    forecast, design = candidate.forecast, candidate.forecast.design
    shown = forecast.expected(_MOST_KINDS)[:kinds]
    ratio = forecast.ratio(choice.bound)
    return [
        candidate.name,
        significant(forecast.error),
        *(significant(entry.error) for entry in shown),
        *([] if ratio is None else [f"{ratio:.2f}"]),
        f"{design.report_format.bits_per_report:.1f}",
        _ROUNDS,
        str(design.guarantee),
        options_text(candidate.options),
    ]


def _is_coarse(candidate: Candidate) -> bool:
    """Whether several codes share a bin, so that ranges are interpolated."""
    return candidate.forecast.design.is_coarse


def options_text(options: Mapping[str, Any]) -> str:
    """Options in words: fanout 4, inference consistent."""
    return ", ".join(f"{key} {value}" for key, value in options.items()) or "defaults"


def _table(head: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Aligned columns under headings of several lines; words at the left, numbers at the right."""
    headings = [wrap(text, _HEADING) for text in head]
    height = max(map(len, headings))
    above = [[""] * (height - len(lines)) + lines for lines in headings]
    body = [[lines[i] for lines in above] for i in range(height)] + [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    words = {0, len(head) - 1, len(head) - 2}
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i in words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in body
    ]
