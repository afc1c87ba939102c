"""Optimal randomized response for two values, simulated over a grid: surfaces of the agreement.

Agreement is the probability that a report is the value. Over the prior and epsilon (no delta), and
over the prior and delta; every point draws a report for everybody of a made-up table with that
prior, from the channel that is optimal for it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures import Cases, Figure, Measured, Row, Verdict
from benchmarks.figures.response_binary import closed_form
from benchmarks.figures.response_work import PAPER, agreement, measured, symmetric, truthful
from benchmarks.figures.verdicts import Value, in_every_case, is_above, is_near, tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NEAR = 0.05
"""The share within which an agreement is another one."""


def measure(
    cases: Cases,
    *,
    epsilons: Sequence[str],
    deltas: Sequence[str],
    epsilon: str,
    steps: int,
    people: int,
) -> Measured:
    """Both surfaces. epsilon: of the one over delta.  steps: of the prior from 0 to 1."""
    rows: list[Row] = []
    points = [("epsilon", own, "0") for own in epsilons]
    points += [("delta", epsilon, own) for own in deltas]
    for axis, own, delta in points:
        key = {"epsilon": own, "delta": delta, "steps": steps, "people": people, "axis": axis}
        rows += cases.rows(key, functools.partial(_rows, axis, own, delta, steps, people))
    return Measured(rows, f"generated: {people:,} people at every point")


def _rows(axis: str, epsilon: str, delta: str, steps: int, people: int) -> list[Row]:
    rows = []
    for step in range(1, steps):
        count = round(people * step / steps)
        share = count / people
        prior = [share, 1.0 - share]
        design = truthful(prior, epsilon, delta)
        codes = np.repeat(np.arange(2), [count, people - count]).astype(np.int64)
        rows.append(
            {
                "axis": axis,
                "epsilon": float(epsilon),
                "delta": float(delta),
                "prior": share,
                "people": people,
                "formula": closed_form(max(prior), float(epsilon), float(delta)),
                "warner": agreement(symmetric(2, epsilon), prior),
                "measured": measured(design, codes, step),
            }
        )
    return rows


def draw(found: Measured) -> Drawing:
    """A surface of measured agreements each, as shades with lines of equal height."""
    from matplotlib.figure import Figure as Picture  # noqa: PLC0415

    picture = Picture(figsize=(9.0, 4.2), layout="constrained")
    picture.suptitle(f"Simulated agreement, two values\n{found.data}", fontsize=11)
    for place, axis in zip(picture.subplots(1, 2), found.values("axis"), strict=True):
        rows = found.where(axis=axis)
        across = sorted({row["prior"] for row in rows})
        up = sorted({row[axis] for row in rows})
        height = {(row["prior"], row[axis]): row["measured"] for row in rows}
        surface = np.array([[height[x, y] for x in across] for y in up])
        shades = place.contourf(across, up, surface, levels=12, cmap="viridis")
        place.contour(across, up, surface, levels=12, colors="white", linewidths=0.4)
        fixed = "delta 0" if axis == "epsilon" else f"epsilon {rows[0]['epsilon']:g}"
        place.set(xlabel="share of one value", ylabel=axis, title=fixed)
        picture.colorbar(shades, ax=place, label="share of reports that are the value")
    return picture


def judge(found: Measured) -> list[Verdict]:
    """Measured agreements beside the formula's, Warner's, and the larger share."""

    def shares(axis: str) -> list[tuple[Value, Row]]:
        rows = found.where(axis=axis)
        return [(_share(row), row) for row in rows]

    verdicts = []
    for axis, number in (("epsilon", 4), ("delta", 8)):
        own = shares(axis)
        near = [is_near(value, Value(row["formula"]), NEAR, len(own)) for value, row in own]
        far = max(abs(value.mean / row["formula"] - 1.0) for value, row in own)
        verdicts.append(
            Verdict(
                f"Figure {number}: simulated agreement over the prior and {axis} is as the "
                f"formula says, to within {NEAR:.0%}",
                in_every_case(near),
                f"{tally(near)}; at most {far:.1%} off",
            )
        )
    own = shares("epsilon")
    least = [is_above(value, Value(row["warner"]), 1.0 - NEAR, len(own)) for value, row in own]
    verdicts.append(
        Verdict(
            f"Figure 4: nowhere does Warner's response agree {NEAR:.0%} more often",
            in_every_case(least),
            tally(least),
        )
    )
    return verdicts


def _share(row: Row) -> Value:
    """Its standard error is that of the formula, as nobody may have reported another value."""
    error = np.sqrt(row["formula"] * (1.0 - row["formula"]) / row["people"])
    return Value(row["measured"], float(error), row["people"])


FIGURES = (
    Figure(
        name="response-9-binary-surface",
        source=f"{PAPER}, Figures 4 and 8, simulated surfaces",
        measure=measure,
        draw=draw,
        judge=judge,
        quick={
            "epsilons": ("0.1", "0.5", "1", "1.5", "2", "3"),
            "deltas": ("0", "0.05", "0.1", "0.15", "0.2", "0.3"),
            "epsilon": "0.1",
            "steps": 20,
            "people": 20_000,
        },
        full={
            "epsilons": tuple(f"{n / 10:g}" for n in range(1, 41)),
            "deltas": tuple(f"{n / 50:g}" for n in range(26)),
            "epsilon": "0.1",
            "steps": 50,
            "people": 100_000,
        },
    ),
)
