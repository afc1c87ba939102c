"""What was given, for the person who gave it: `Ledger.history`, and in plain words `list_given`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldpsql_device.ledger import _Answer


@dataclass(frozen=True)
class Given:
    """A report that was drawn, and what it cost.

    survey: its fingerprint.  author: the key that signed it, or None.  period: the first day of the
    one that it is about, or None.  day: the one on which it was drawn.  epsilon, delta: what it was
    charged, as decimal texts.  report: the line that leaves, byte for byte.
    """

    survey: str
    author: str | None
    period: date | None
    day: date
    epsilon: str
    delta: str
    report: str


def read_answer(answer: _Answer) -> Given:
    """A row of a ledger for people."""
    return Given(
        survey=answer.survey,
        author=answer.chain.partition(":")[0] or None,
        period=None if answer.period == "None" else date.fromisoformat(answer.period),
        day=date.fromordinal(answer.day),
        epsilon=answer.epsilon,
        delta=answer.delta,
        report=answer.report,
    )


def list_given(given: Sequence[Given], words: Mapping[str, str]) -> Iterator[str]:
    """Lines for a screen: each survey in plain words, with its reports and what they cost.

    words: by fingerprint, what `describe` says of surveys.
    """
    for survey in dict.fromkeys(each.survey for each in given):
        own = [each for each in given if each.survey == survey]
        yield words.get(survey, f"A survey without a description here, {survey}")
        for each in own:
            about = "" if each.period is None else f", about the period from {each.period} on"
            delta = "" if each.delta == "0" else f", delta {each.delta}"
            yield f"  {each.day}{about}: epsilon {each.epsilon}{delta}"
            yield f"    {each.report}"
        yield ""
