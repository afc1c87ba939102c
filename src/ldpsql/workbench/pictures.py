"""The picture of a designed survey: errors to expect; what is asked and what a report tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ldpsql.designer import DesignedSurvey
from ldpsql.designer.forecast import (
    DimensionCurve,
    demand_curves,
    error_curves,
    information_curves,
)
from ldpsql.terminal.figures import Curve, Panel, draw_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST_NAME = 20


def draw_survey(designed: DesignedSurvey, *, is_verbose: bool = False) -> Figure:
    """A panel of expected errors; before it, if verbose, panels of what is asked and of what a
    report tells (Fourier designs only)."""
    survey, domain = designed.survey, designed.survey.design.domain
    names = [
        f"{name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + '…'} ({size} values)"
        for name, size in zip(domain.names, domain.sizes, strict=True)
    ]

    def frequencies(title: str, unit: str, curves: Sequence[DimensionCurve]) -> Panel:
        """Both axes in decades: what is asked falls with the square of the frequency."""
        x_label = "frequency (turns around the circle of values)"
        shown = tuple(Curve(names[c.dimension], c.x.tolist(), c.y.tolist()) for c in curves)
        return Panel(title, x_label, unit, shown, log_x=2, log_y=True)

    panels = []
    if is_verbose:
        demand = demand_curves(survey.design, designed.workload)
        unit = "mean energy γ of the questions"
        panels.append(frequencies("What the questions need", unit, demand))
    if is_verbose and (information := information_curves(survey.design)):
        unit = "information λ (1: records in clear)"
        panels.append(frequencies("What one report tells", unit, information))
    errors = tuple(
        Curve(
            names[curve.dimension],
            (100.0 * curve.x / domain.sizes[curve.dimension]).tolist(),
            (100.0 * curve.y).tolist(),
        )
        for curve in error_curves(survey.design, designed.people)
    )
    panels.append(
        Panel(
            "Expected error of a count",
            "length of the range, or size of the set (% of the values)",
            f"standard error (% of {designed.people:,} people)",
            errors,
            zero=True,
            x_limits=(0.0, 100.0),
        )
    )
    how = f"{survey.design.name}{' (chosen by auto)' if survey.chosen else ''}"
    kind = "local epsilon" if survey.shuffled else "epsilon"
    return draw_figure(f"Survey {survey.table}: {how}, {kind} {survey.epsilon}", panels)
