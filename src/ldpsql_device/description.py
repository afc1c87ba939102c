"""A survey in plain words, for a screen on which a person is asked to take part."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsql_device.epsilon import decimal_text
from ldpsql_device.errors import NotSupportedError
from ldpsql_device.policy import partly_sensitive
from ldpsql_device.schema import (
    LONGEST_LABEL,
    OTHER,
    Attribute,
    Dimension,
    Measure,
    PublicColumn,
)
from ldpsql_device.survey import PERIODS
from ldpsql_device.values import NUMPY_TYPES, Domain, Listed, Ordered, Value

if TYPE_CHECKING:
    from ldpsql_device.epsilon import Epsilon
    from ldpsql_device.pledge import Pledge
    from ldpsql_device.survey import Published, Schedule

WIDTH = 80
_FEW, _LONGEST, _LONGEST_LABEL = 8, 40, 64
_OUTSIDE = {
    "nearest": "the nearest value",
    "random": "a value drawn evenly",
    "other": f"the value {OTHER}",
}
_QUOTATION_MARKS = (
    '"\u201c\u201d\u201e\u201f\u2033\u2036\u275d\u275e\u301d\u301e\u301f\uff02\u02ba\u02ee\u05f4'
)
"""Whatever looks like one; each is shown as one that ends nothing."""
_ESCAPED = {"\\": r"\\", **dict.fromkeys(_QUOTATION_MARKS, r"\"")}
_QUOTATION = re.compile(r'"(?:[^"\\]|\\.)*"')
_NO_BREAK = "\u00a0"


def describe(survey: Published, pledge: Pledge | None = None) -> str:
    """A survey in plain words: what is asked, what leaves the device and what may be concluded from
    it, how often, until when, who signed it, and what is not covered; lines of at most 80
    characters.

    pledge: of a shuffler that the app trusts: what is promised if it is honest, and what if it is
    not. SurveyError for one that does not fit the survey.

    Nothing of a record is in it. What a survey's author wrote is quoted, without characters that
    cannot be seen.
    """
    paragraphs = (
        ("Asked, to be randomized here", _describe_columns(survey)),
        ("What leaves this device", _describe_report(survey, pledge)),
        ("In clear", _describe_public(survey)),
        ("How often", _describe_schedule(survey)),
        ("Who asks", _describe_author(survey)),
        (
            "Not covered",
            "that you took part, when, and from which address. Who answers several surveys gives "
            "away the sum of their epsilons.",
        ),
    )
    lines = [_fill(f"Survey {name_with_label(survey.table, survey.label, _LONGEST_LABEL)}")]
    lines += [_fill(f"{title}: {text}") for title, text in paragraphs]
    return "\n".join(lines)


def largest_belief(epsilon: Epsilon) -> str:
    """The largest belief, in per cent and rounded up, that a report can make of one half.

    It is e^epsilon / (1 + e^epsilon), with as many digits as show that it is not certainty.

    >>> from ldpsql_device.epsilon import Epsilon
    >>> largest_belief(Epsilon.parse("2")), largest_belief(Epsilon.parse("20"))
    ('89 %', '99.9999998 %')
    """
    share = epsilon.odds / (1 + epsilon.odds)
    digits = 0
    while (shown := math.ceil(share * 10 ** (digits + 2))) >= 10 ** (digits + 2):
        digits += 1
    return f"{shown / 10**digits:.{digits}f} %"


def sum_of_year(survey: Published) -> str | None:
    """The epsilon of all answers of a year together; None for a survey without periods or
    promise."""
    schedule, epsilon = survey.schedule, survey.guarantee.epsilon
    if schedule.period is None or epsilon is None:
        return None
    periods = PERIODS[schedule.period]
    count = schedule.answers_in(periods)
    is_year = schedule.sample is None and schedule.period != "week"
    within = "a year" if is_year else f"any {periods} {schedule.period}s in a row"
    return (
        f"{count} in {within} have epsilon {decimal_text(count * Fraction(epsilon.value))} together"
    )


def _describe_columns(survey: Published) -> str:
    schema = survey.schema
    private: tuple[Dimension | Measure, ...] = (*schema.dimensions, *schema.measures)
    columns = [
        f"{name_column(survey, each.name, _LONGEST_LABEL)} "
        f"({_describe_event(each)}{describe_values(each)})"
        for each in private
    ]
    sentences = [f"{'; '.join(columns)}."]
    if outside := _join_rules((describe_outside(each), each.name) for each in private):
        sentences.append(f"A value outside counts as {outside}.")
    missing = _join_rules((describe_missing(each), each.name) for each in private)
    sentences.append(f"A missing value counts as {missing}.")
    return " ".join(sentences)


def _describe_event(column: Dimension | Measure) -> str:
    return "" if column.event is None else f"from events, {column.event}: "


def _join_rules(rules: Iterable[tuple[str, str]]) -> str:
    """The rules for values, each with its columns where these differ."""
    columns: dict[str, list[str]] = {}
    for rule, name in rules:
        if rule:
            columns.setdefault(rule, []).append(name)
    if len(columns) == 1:
        return next(iter(columns))
    return "; ".join(f"{rule} for {', '.join(names)}" for rule, names in columns.items())


def describe_values(column: Dimension | Measure, most: int = _FEW) -> str:
    """The values of a private column, so many of them at most, or its bins and bounds."""
    if not isinstance(column, Dimension):
        low, high = column.bounds
        return f"a number from {low:.15g} to {high:.15g}" + (", or missing" * column.has_null)
    domain, missing = column.domain, ", or missing" if column.has_null else ""
    if isinstance(domain, Listed):
        return _list_values(domain.recorded, most) + missing
    return f"one of {domain.size} bins of {describe_extent(domain)}{missing}"


def describe_extent(domain: Domain) -> str:
    """The extent of a domain in words, for messages: [18, 90]."""
    if isinstance(domain, Listed):
        return "false, true" if domain.type == "bool" else f"{len(domain.values)} declared values"
    first, last = Edges(domain)[0], Edges(domain)[-1]
    if isinstance(last, datetime):
        return f"[{first}, {last})"
    if isinstance(last, date):
        return f"[{first}, {last - timedelta(days=1)}]"
    if isinstance(last, int):
        return f"[{first}, {last - 1}]"
    return f"[{first:.15g}, {last:.15g}]"


def describe_outside(column: Attribute) -> str:
    """The stand-in for a value outside its domain or bounds; empty where none can be outside."""
    if isinstance(column, Measure) or (isinstance(column, PublicColumn) and column.bounds):
        return "the nearer bound"
    if isinstance(column, PublicColumn) or column.domain.type == "bool":
        return ""
    if column.outside == "other" and not isinstance(column.domain, Listed):
        return "missing (NULL)"
    return _OUTSIDE[str(column.outside)]


def describe_missing(column: Attribute) -> str:
    """The stand-in for a value that is missing or of another type."""
    if isinstance(column, PublicColumn) or column.has_null:
        return "missing (NULL)"
    if isinstance(column, Measure):
        if column.missing_as is not None:
            return f"{column.missing_as:.15g}"
        return "a bound drawn evenly" if column.levels == 2 else "the middle of the bounds"
    return _OUTSIDE["random"]


def name_with_label(name: str, label: str | None, most: int = LONGEST_LABEL) -> str:
    """A name, and the label beside it, where there is one, quoted."""
    return name if label is None else f"{name} {quote(label, most)}"


def name_column(survey: Published, name: str, most: int = LONGEST_LABEL) -> str:
    """The name of a column with its label."""
    return name_with_label(name, survey.schema.labels.get(name), most)


def _list_values(values: Sequence[object], most: int) -> str:
    shown, more = ", ".join(map(quote, values[:most])), len(values) - most
    return f"{shown} and {more} more" if more > 0 else shown


def quote(value: object, most: int = _LONGEST) -> str:
    """A value or label as its survey has it, cut short, without characters that cannot be seen; no
    quotation mark in it, of whatever form, ends it."""
    if not isinstance(value, str):
        return str(value).lower()
    seen = [_ESCAPED.get(c) or (c if c.isprintable() else f"\\u{ord(c):04x}") for c in value[:most]]
    while sum(map(len, seen)) > most:
        seen.pop()
    return f'"{"".join(seen)}{"..." if len(seen) < len(value) else ""}"'


def _fill(text: str) -> str:
    """A paragraph in lines, none of which starts within a quoted text."""
    kept = _QUOTATION.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
    filled = fill(kept, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return filled.replace(_NO_BREAK, " ")


def _describe_report(survey: Published, pledge: Pledge | None) -> str:
    return " ".join(_promises(survey, pledge))


def _promises(survey: Published, pledge: Pledge | None) -> Iterator[str]:
    guarantee, central = survey.guarantee, survey.guarantee.central
    if pledge is not None:
        pledge.require_fit(survey)
    if pledge is None or central is None:
        yield "one randomized report."
    else:
        yield (
            "one randomized report, encrypted. Only a shuffler can read it, the owner of the key "
            f"{pledge.shuffler}. Until {pledge.until} it pledges to pass on only mixed reports, "
            f"{pledge.shuffled.users:,} or more at a time. If it keeps to that, yours is hidden "
            f"among those of {central.people - 1:,} other honest people and has epsilon "
            f"{central.epsilon}, delta {_decimal(central.delta)}: a belief of 50 % about your "
            f"answers can rise to {largest_belief(central.epsilon)} at most, but for a chance of "
            f"{_decimal(central.delta)}. If it does not, others can learn as much as it does."
        )
    if guarantee.epsilon is None:
        yield "Nothing is promised: it can give your answers away."
        return
    yield (
        f"By itself it has epsilon {guarantee.epsilon}: a belief of 50 % about your answers can "
        f"rise to {largest_belief(guarantee.epsilon)} at most."
    )
    if guarantee.delta:
        yield f"With probability {_decimal(guarantee.delta)} your answers are sent in clear."
    if guarantee.kind != "local":
        names = partly_sensitive(survey.schema)
        kept = [
            f"{d.name} {describe_sensitive(d)}" for d in survey.schema.dimensions if d.name in names
        ]
        yield (
            f"This holds for what the survey calls sensitive, {'; '.join(kept)}; other values may "
            "be given away."
        )
    if guarantee.kind == "uldp-joint":
        yield "One that is given away can also hint at a sensitive one that goes with it."
    if central is not None and pledge is None:
        yield (
            "Its author claims that whoever sees it only mixed with those of "
            f"{central.people - 1:,} honest people learns less: epsilon "
            f"{central.epsilon}, delta {_decimal(central.delta)}. "
            "This device cannot check that."
        )


class Edges(Sequence[Any]):
    """The edges of an ordered domain: numbers, dates or datetimes, each made when it is asked for,
    because a short survey can ask for many."""

    def __init__(self, domain: Ordered) -> None:
        self._points, self._kind = domain.edge_array, np.dtype(NUMPY_TYPES[domain.type])

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, place: Any) -> Any:
        found = self._points[place].astype(self._kind).tolist()
        return tuple(found) if isinstance(found, list) else found


def values_of(domain: Listed, code: int) -> tuple[Value, ...]:
    """The values that share a code."""
    pairs = zip(domain.recorded, domain.codes, strict=True)
    return tuple(value for value, own in pairs if own == code)


def describe_sensitive(dimension: Dimension, most: int = _FEW) -> str:
    """The values of a dimension that its survey calls sensitive, so many of them at most."""
    domain = dimension.domain
    own = [code for code in dimension.sensitive if code < domain.size]
    declared = (
        [value for code in own for value in values_of(domain, code)]
        if isinstance(domain, Listed)
        else [Edges(domain)[code] for code in own]
    )
    missing = ", or missing" if len(declared) < len(dimension.sensitive) else ""
    return f"{_list_values(declared, most)}{missing}"


def _describe_public(survey: Published) -> str:
    names = ", ".join(
        name_column(survey, column.name, _LONGEST_LABEL) + _describe_bounds(column)
        for column in survey.record_schema.public
    )
    return f"{names}, without any protection." if names else "nothing of your record."


def _describe_bounds(column: PublicColumn) -> str:
    """The bounds of a public column, if it has any: a value beyond counts as the nearer one."""
    if column.bounds is None:
        return ""
    low, high = column.bounds
    return f" (moved to {low:.15g} if lower, and to {high:.15g} if higher)"


def describe_schedule(schedule: Schedule) -> str:
    """When a survey is answered, in one line."""
    often = f"once a {schedule.period}" if schedule.period else "once"
    if schedule.sample is not None:
        often += f", by each device in one of {schedule.sample} {schedule.period}s"
    days = (("from", schedule.start), ("until", schedule.end))
    limits = "".join(f" {word} {day}" for word, day in days if day is not None)
    return f"{often}{limits}; a report may be sent again for {schedule.replay_window} days"


def _describe_schedule(survey: Published) -> str:
    schedule = survey.schedule
    often = "once; asked again, the same report is sent again."
    if schedule.period is not None:
        often = f"once in every {schedule.period}, which is sent along."
        if schedule.sample is not None:
            often = (
                f"once in {schedule.sample} {schedule.period}s. This device draws once in which of "
                f"them, and keeps to it. The {schedule.period} is sent along."
            )
        if (year := sum_of_year(survey)) is not None:
            often += f" Every answer counts: {year}."
    if survey.first is not None:
        often += " It is a later round of a survey, of which one round is answered."
    if schedule.end is not None:
        often += f" Nothing is sent after {schedule.end}."
    return often


def _describe_author(survey: Published) -> str:
    if survey.author is None:
        return "unknown; nobody has signed this survey."
    try:
        survey.verify()
    except NotSupportedError:
        return f"allegedly the owner of the key {survey.author}; this device cannot check that."
    return f"the owner of the key {survey.author}."


def _decimal(number: Fraction) -> str:
    return f"{float(number):.3g}"
