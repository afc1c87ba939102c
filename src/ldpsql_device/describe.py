"""A survey in plain words, for a screen on which a person is asked to take part."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import fill
from typing import TYPE_CHECKING

from ldpsql_device.epsilon import decimal_text
from ldpsql_device.errors import NotSupportedError
from ldpsql_device.policy import partly_sensitive
from ldpsql_device.values import Listed

if TYPE_CHECKING:
    from ldpsql_device.epsilon import Epsilon
    from ldpsql_device.schema import Dimension
    from ldpsql_device.survey import Published

WIDTH = 80
_FEW, _LONGEST = 8, 40
_ESCAPED = {'"': r"\"", "\\": r"\\"}
_QUOTATION = re.compile(r'"(?:[^"\\]|\\.)*"')
_NO_BREAK = "\u00a0"


def describe(survey: Published) -> str:
    """What is asked, what leaves the device and what may be concluded from it, how often, until
    when, who signed it, and what is not covered; lines of at most 80 characters.

    Nothing of a record is in it. What a survey's author wrote is quoted, without characters that
    cannot be seen.
    """
    paragraphs = (
        ("Asked, to be randomized here", _asked(survey)),
        ("What leaves this device", _leaving(survey)),
        ("In clear", _in_clear(survey)),
        ("How often", _how_often(survey)),
        ("Who asks", _asking(survey)),
        (
            "Not covered",
            "that you took part, when, and from which address. Who answers several surveys gives "
            "away the sum of their epsilons.",
        ),
    )
    lines = [f"Survey {survey.table}"]
    lines += [_fill(f"{title}: {text}") for title, text in paragraphs]
    return "\n".join(lines)


def largest_belief(epsilon: Epsilon) -> str:
    """What a belief of one half can become by a report, in per cent, rounded up.

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


def _asked(survey: Published) -> str:
    schema = survey.schema
    columns = [f"{d.name} ({describe_values(d)})" for d in schema.dimensions]
    for measure in schema.measures:
        low, high = measure.bounds
        columns.append(f"{measure.name} (a number from {low:.15g} to {high:.15g})")
    return f"{'; '.join(columns)}. What is none of these counts as the nearest or a random one."


def describe_values(dimension: Dimension, most: int = _FEW) -> str:
    """The values of a dimension, so many of them at most, or its bins and bounds."""
    domain, missing = dimension.domain, ", or missing" if dimension.has_null else ""
    if isinstance(domain, Listed):
        return _listed(domain.values, most) + missing
    return f"one of {domain.size} bins of {domain.describe()}{missing}"


def _listed(values: Sequence[object], most: int) -> str:
    shown, more = ", ".join(map(_quoted, values[:most])), len(values) - most
    return f"{shown} and {more} more" if more > 0 else shown


def _quoted(value: object) -> str:
    """A value as its survey has it, cut short, without characters that cannot be seen; a quotation
    mark in it does not end it."""
    if not isinstance(value, str):
        return str(value).lower()
    seen = [
        _ESCAPED.get(c) or (c if c.isprintable() else f"\\u{ord(c):04x}") for c in value[:_LONGEST]
    ]
    while sum(map(len, seen)) > _LONGEST:
        seen.pop()
    return f'"{"".join(seen)}{"..." if len(seen) < len(value) else ""}"'


def _fill(text: str) -> str:
    """A paragraph in lines, none of which starts within a quoted text."""
    kept = _QUOTATION.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
    filled = fill(kept, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return filled.replace(_NO_BREAK, " ")


def _leaving(survey: Published) -> str:
    return " ".join(["one randomized report.", *_promises(survey)])


def _promises(survey: Published) -> Iterator[str]:
    guarantee = survey.guarantee
    if guarantee.epsilon is None:
        yield "Nothing is promised: it can give your answers away."
        return
    yield (
        f"By itself it has epsilon {guarantee.epsilon}: by it a belief of 50 % about your answers "
        f"becomes at most {largest_belief(guarantee.epsilon)}."
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
    if guarantee.central is not None:
        yield (
            "Its author claims that whoever sees it only mixed with those of "
            f"{guarantee.central.people - 1:,} honest people learns less: epsilon "
            f"{guarantee.central.epsilon}, delta {_decimal(guarantee.central.delta)}. "
            "This device cannot check that."
        )


def describe_sensitive(dimension: Dimension, most: int = _FEW) -> str:
    """The values of a dimension that its survey calls sensitive, so many of them at most."""
    domain = dimension.domain
    values = domain.values if isinstance(domain, Listed) else domain.edges
    declared = [values[code] for code in dimension.sensitive if code < domain.size]
    missing = ", or missing" if len(declared) < len(dimension.sensitive) else ""
    return f"{_listed(declared, most)}{missing}"


def _in_clear(survey: Published) -> str:
    names = ", ".join(column.name for column in survey.record_schema.public)
    return f"{names}, without any protection." if names else "nothing of your record."


def _how_often(survey: Published) -> str:
    schedule, epsilon = survey.schedule, survey.guarantee.epsilon
    often = "once; asked again, the same report is sent again."
    if schedule.period is not None:
        often = f"once in every {schedule.period}, which is sent along."
        if epsilon is not None:
            count = {"day": 365, "month": 12}[schedule.period]
            total = decimal_text(count * Fraction(epsilon.value))
            often += f" Every answer counts: {count} in a year have epsilon {total} together."
    if survey.first is not None:
        often += " It is a later round of a survey, of which one round is answered."
    if schedule.end is not None:
        often += f" Nothing is sent after {schedule.end}."
    return often


def _asking(survey: Published) -> str:
    if survey.author is None:
        return "unknown; nobody has signed this survey."
    try:
        survey.verify()
    except NotSupportedError:
        return f"allegedly the owner of the key {survey.author}; this device cannot check that."
    return f"the owner of the key {survey.author}."


def _decimal(number: Fraction) -> str:
    return f"{float(number):.3g}"
