"""Public. Sees parameters. What a synthetic table keeps of the truth, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ldpsql.mechanisms.base import StatesBias
from ldpsql.survey import Survey
from ldpsql.synthesis.graph import Axes
from ldpsql.synthesis.learning import Learned
from ldpsql.synthesis.public import PublicPeople
from ldpsql_device.guarantee import Guarantee

_MOST_NAMED = 12
_NOTICEABLE = 1e-3


def notes(
    survey: Survey,
    guarantee: Guarantee,
    people: int,
    learned: Learned,
    public: PublicPeople | None,
) -> tuple[str, ...]:
    """Sentences: what was drawn from, what is kept and how well, and what is not.

    guarantee: what people got of the survey's promise.
    """
    design = survey.design
    said = [
        f"{survey.table}: made-up people from {people} reports; {guarantee} ({design.name}, "
        f"epsilon {survey.epsilon} per report)",
        *_biased(survey),
        *_alone(learned),
        *_together(learned),
        *_left_out(learned),
        "nothing else is kept: beyond these tables, columns are as independent as they can be "
        "(greatest entropy)",
    ]
    measures = [axis.name for axis in learned.axes if axis.kind == "measure"]
    if measures:
        said.append(
            f"of {', '.join(measures)} only averages are kept (of everybody, and within the tables "
            "above); the spread of single amounts is made up"
        )
    if public is not None:
        said.append("public columns together are drawn from their exact combinations")
        if public.independent:
            said.append(
                f"{', '.join(public.independent)}: too many public values for private columns to "
                "depend on them"
            )
    said.append(
        "errors of answers from this table cannot be computed from it; ask the survey itself for "
        "numbers with error bars"
    )
    return tuple(said)


def _biased(survey: Survey) -> list[str]:
    """What biases the estimates that the table is made from."""
    design = survey.design
    name = next(iter(design.estimators))
    bias = design.biases.get(name) if isinstance(design, StatesBias) else None
    return [] if bias is None else [f"estimator {name} is biased: {bias}"]


def _alone(learned: Learned) -> list[str]:
    known = [
        f"{axis.name} ({_error(error)})"
        for axis, error in zip(learned.axes, learned.alone, strict=True)
        if not math.isnan(error)
    ]
    unknown = [
        axis.name
        for axis, error in zip(learned.axes, learned.alone, strict=True)
        if math.isnan(error)
    ]
    said = []
    if known:
        share = "the standard error of the share of one bin among all people"
        said.append(f"kept, with {share}: {', '.join(known)}")
    if unknown:
        said.append(
            f"not answered by the design or its reports, spread evenly: {', '.join(unknown)}"
        )
    return said


def _together(learned: Learned) -> list[str]:
    if not learned.kept:
        return ["no columns are kept together: no dependence exceeds the noise"]
    errors = {axes: f" ({_error(error)})" for axes, error in learned.kept.items()}
    return [f"kept together, in groups of values: {_named(learned, learned.kept, errors)}"]


def _left_out(learned: Learned) -> list[str]:
    said = []
    if learned.unclear:
        said.append(
            f"drawn as if independent, dependence not above the noise: "
            f"{_named(learned, learned.unclear)}"
        )
    if learned.unknown:
        said.append(
            "drawn as if independent, not answered by the survey's design or its reports, or too "
            f"many to ask for: {_named(learned, learned.unknown)}"
        )
    if learned.dropped:
        said.append(
            f"kept only through other columns, for want of room: {_named(learned, learned.dropped)}"
        )
    if learned.model.misfit > _NOTICEABLE:
        said.append(
            f"the tables do not fit together exactly: a share differs by up to "
            f"{_percent(learned.model.misfit)}"
        )
    return said


def _named(learned: Learned, several: Iterable[Axes], after: dict[Axes, str] | None = None) -> str:
    """Tables by their columns: age x state, sex x state and 7 more."""
    names = [
        " x ".join(learned.axes[place].name for place in axes) + (after or {}).get(axes, "")
        for axes in several
    ]
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _error(share: float) -> str:
    return f"±{_percent(share)}" if share else "exact"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"
