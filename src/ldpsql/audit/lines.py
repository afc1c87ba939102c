"""The result of an audit in words, on a terminal and on the page alike."""

from __future__ import annotations

from collections.abc import Iterator

from ldpsql.audit.check import Audit, count_answers
from ldpsql.errors import pluralize
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import PUBLIC_IN_CLEAR, StatedGuarantee
from ldpsql_device.description import (
    describe_missing,
    describe_outside,
    describe_sensitive,
    describe_values,
    largest_belief,
    name_column,
    sum_of_year,
)
from ldpsql_device.errors import Error
from ldpsql_device.schema import Dimension, PublicColumn

COLUMN_HEADS = ("column", "role", "values", "if outside", "if missing")
_MOST_VALUES = 64


def author_line(survey: Survey) -> str:
    """Who signed a survey, and whether the signature was verified here."""
    if survey.author is None:
        return "nobody has signed this survey"
    try:
        survey.verify()
    except Error as error:
        return f"{survey.author}, not verified: {error}"
    return f"{survey.author}, whose signature is valid"


def column_rows(survey: Survey) -> Iterator[tuple[str, ...]]:
    """A row per column, under COLUMN_HEADS: what of a record is read, and how it is read."""
    for column in survey.record_schema.attributes:
        name = name_column(survey, column.name)
        outside, missing = describe_outside(column), describe_missing(column)
        if isinstance(column, PublicColumn):
            yield name, "IN CLEAR", f"{column.type}, sent as it is", outside, missing
            continue
        role, values = "private, summed", describe_values(column, _MOST_VALUES)
        if isinstance(column, Dimension):
            role = "private"
            if 0 < len(column.sensitive) < column.size:
                values += f"; sensitive: {describe_sensitive(column, _MOST_VALUES)}"
        yield name, role, values, outside, missing
    if period := survey.schedule.period:
        yield "period", "in clear", f"first day of the {period}, set by the device", "", ""


def column_lines(survey: Survey) -> Iterator[str]:
    """A line per column: its role and values, and what it makes of others."""
    for name, role, values, outside, missing in column_rows(survey):
        others = [f"outside: {outside}"] * bool(outside) + [f"missing: {missing}"] * bool(missing)
        yield f"{name}, {'; '.join([f'{role}: {values}', *others])}"


def public_line(survey: Survey) -> str:
    """The columns that travel in clear, by name."""
    return ", ".join(column.name for column in survey.schema.public) or "none"


def year_line(survey: Survey) -> str | None:
    """What a year of answers costs a person, and how that was established; None as of
    `sum_of_year`."""
    year, schedule = sum_of_year(survey), survey.schedule
    if year is None or schedule.sample is None:
        return year
    most, periods = count_answers(schedule)
    return (
        f"{year} (counted for each of {schedule.sample} offsets and every {schedule.period} to "
        f"begin with: at most {pluralize(most, 'answer')} in {periods} {schedule.period}s)"
    )


def belief_line(audit: Audit) -> str:
    """The largest belief that one report can make, by itself."""
    guarantee = audit.design.guarantee
    if guarantee.epsilon is None:
        return "nothing is promised: a report can give its sender's record away"
    what = "a person's answers" if guarantee.kind == "local" else "a sensitive value"
    joint = guarantee.kind == "uldp-joint"
    hint = "; what is given away beside it can change the belief, too" if joint else ""
    fails = f", except with probability {float(guarantee.delta):g}" if guarantee.delta else ""
    return (
        f"epsilon {guarantee.epsilon}, by itself: a belief of 50 % about {what} can rise to "
        f"{largest_belief(guarantee.epsilon)} at most{fails}{hint}"
    )


def list_not_covered(guarantee: StatedGuarantee, survey: Survey | None) -> tuple[str, ...]:
    """The limits of a promise, as far as they concern this survey."""
    is_idle = survey is None or not survey.schema.public
    return tuple(
        item for item in guarantee.not_protected if not (is_idle and item == PUBLIC_IN_CLEAR)
    )
