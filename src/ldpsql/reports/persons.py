"""Which rows of a table are one person's, and what of them is answered for.

It is a fact about a table, which devices do not have: `person_rows` applies it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RESERVED_PREFIX, Schema

PERSON, ORDER = f"{RESERVED_PREFIX}person", f"{RESERVED_PREFIX}order"
"""What the columns of a rule are called in a table that was read by it."""
_PERSON = re.compile(
    r"(.*[_ -])?(user|customer|client|person|patient|member|account|subscriber|passenger|device|"
    r"driver|rider|visitor|player|student|employee|household|medallion|licen[cs]e|ssn|e-?mail|"
    r"msisdn|imei)[_ -]?(id|no|nr|num|number|key|hash|name)?"
)
_IDENTIFIER = re.compile(r"(.*[_ -])?(id|uuid|guid)")
_KEYS = ("column", "last_by", "sum", "max")


def find_identifier(names: Iterable[str], schema: Schema) -> str | None:
    """The first column that looks as if it told persons apart, by its name alone, and is no column
    of the survey: one that names persons rather than one that identifies anything; None where there
    is none."""
    declared = {attribute.name for attribute in schema.attributes} | {*schema.labels.values()}
    # CustomerId is customer_id.
    plain = {
        name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()
        for name in names
        if declared.isdisjoint({name.strip(), name.lower()})
    }
    for looks in (_PERSON, _IDENTIFIER):
        for name, text in plain.items():
            if looks.fullmatch(text):
                return name
    return None


@dataclass(frozen=True)
class PersonRule:
    """Which rows are one person's, and what of them is answered for.

    column: tells persons apart; it is no column of the survey.  last_by: the row with the largest
    value in this column answers, one of them drawn evenly where there are several; None for one of
    all rows, drawn evenly.  sums, maxima: measures of which all rows' sum, or largest value,
    answers; it counts as its nearer bound where it is outside.
    """

    column: str
    last_by: str | None = None
    sums: tuple[str, ...] = ()
    maxima: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are read besides those of the survey, by the names they are read as."""
        return {PERSON: self.column, **({ORDER: self.last_by} if self.last_by else {})}

    def require(self, schema: Schema) -> None:
        """SurveyError for a rule that does not fit the columns of a survey."""
        names = {attribute.name for attribute in schema.attributes}
        if self.column.lower() in names:
            raise SurveyError(
                f"person: {self.column} is a column of the survey, and what tells persons apart is "
                "in no report; leave it out of the survey"
            )
        measures = {measure.name for measure in schema.measures}
        reduced = (*self.sums, *self.maxima)
        for name in reduced:
            if name not in measures:
                raise SurveyError(
                    f"[person]: sum and max are of measures; {name!a:.60} is no [measure.NAME]"
                )
        if len(set(reduced)) < len(reduced):
            raise SurveyError("[person]: name a measure once, under sum or under max")

    def describe(self) -> str:
        """The rule for a person's rows, in words."""
        row = f"the last row by {self.last_by}" if self.last_by else "one row, drawn evenly"
        parts = [f"the sum of {name}" for name in self.sums]
        parts += [f"the largest {name}" for name in self.maxima]
        return f"one report per {self.column}: {', '.join([row, *parts])}"

    def to_keys(self) -> dict[str, object]:
        """As JSON and TOML hold it."""
        said = (self.column, self.last_by, [*self.sums], [*self.maxima])
        return {key: value for key, value in zip(_KEYS, said, strict=True) if value}

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any]) -> PersonRule:
        """The inverse of `to_keys`; SurveyError for anything else."""
        unknown = set(keys) - {*_KEYS}
        if unknown:
            known = ", ".join(_KEYS[1:])
            raise SurveyError(f"[person]: unknown key {min(unknown)!r}; it knows: {known}")
        column, last_by = keys.get("column"), keys.get("last_by")
        for key, name in (("[survey]: person", column), ("[person]: last_by", last_by or "-")):
            if not isinstance(name, str) or not name:
                raise SurveyError(f"{key} must be the name of a column")
        lists = [keys.get(key, []) for key in _KEYS[2:]]
        for key, names in zip(_KEYS[2:], lists, strict=True):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise SurveyError(f"[person]: {key} must be a list of names of measures")
        return cls(str(column), last_by, tuple(lists[0]), tuple(lists[1]))
