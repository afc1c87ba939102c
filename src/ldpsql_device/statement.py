"""An author's statement about a table: which survey it asks, from one day to another.

A collector answers with it which survey a table has. A survey's own signature says whose it is and
on which days it is answered; only the statement tells it from an earlier one of the same author and
table that has not ended. A device loads this where its app demands statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from ldpsql_device.errors import NotAllowed, SurveyError
from ldpsql_device.schema import check_name
from ldpsql_device.signature import SigningKey, check_author, verify
from ldpsql_device.survey import (
    canonical,
    parse_json,
    read_day,
    require_hashes,
    require_keys,
    signed_text,
)

if TYPE_CHECKING:
    from ldpsql_device.survey import Published

VERSION = 1
_KEYS = ("ldpsql_statement", "table", "fingerprint", "issued", "until", "author", "signature")


@dataclass(frozen=True)
class Statement:
    """An author's statement about a table.

    table: its name.  fingerprint: of the survey that is asked.  issued: the day (UTC) on which the
    author said so; an author says one thing a day.  until: the last day on which it is believed.
    author, signature: an Ed25519 public key, and its signature of the rest.  text: its canonical
    JSON.
    """

    table: str
    fingerprint: str
    issued: date
    until: date
    author: str
    signature: str
    text: str

    @classmethod
    def from_json(cls, text: str) -> Statement:
        """Read what a collector answers of a table.

        SurveyError for anything else than a statement by the owner of the key that it names, and
        for an answer that bears no signature. NotSupportedError where the library that checks
        signatures is missing.
        """
        data = parse_json(text)
        if not isinstance(data, dict) or "signature" not in data:
            raise SurveyError(
                "the collector's answer is not a statement signed by an author (`ldpsql statement` "
                "makes one)"
            )
        require_keys(data, "the statement", _KEYS)
        if data["ldpsql_statement"] != VERSION or type(data["ldpsql_statement"]) is not int:
            raise SurveyError(f"not a statement of version {VERSION}, which is the one known here")
        check_name(data["table"], "table")
        require_hashes(data["fingerprint"])
        check_author(data["author"], data["signature"])
        issued, until = (read_day(data[key], f"statement.{key}") for key in ("issued", "until"))
        if None in (data["fingerprint"], data["author"]) or issued > until:
            raise SurveyError("not a statement: it needs a survey, an author, and a day to end on")
        verify(data["author"], data["signature"], signed_text(data))
        return cls(
            data["table"],
            data["fingerprint"],
            issued,
            until,
            author=data["author"],
            signature=data["signature"],
            text=canonical(data),
        )

    @classmethod
    def sign(cls, survey: Published, key: SigningKey, *, issued: date, until: date) -> Statement:
        """Say that a survey is the one that its table asks.

        SurveyError for a survey of another author or of nobody, and for days in the wrong order.
        """
        if survey.author != key.author:
            raise SurveyError(
                f"survey {survey.table} was not signed with this key, so nobody would believe a "
                "statement by its owner; sign the survey first (`ldpsql design --sign`)"
            )
        data = {
            "ldpsql_statement": VERSION,
            "table": survey.table,
            "fingerprint": survey.fingerprint,
            "issued": issued.isoformat(),
            "until": until.isoformat(),
            "author": key.author,
        }
        return cls.from_json(canonical({**data, "signature": key.sign(canonical(data))}))

    def require(self, survey: Published, day: date) -> None:
        """NotAllowed unless it says, on this day, that this survey is the one to be answered."""
        named = (self.author, self.table, self.fingerprint)
        if named != (survey.author, survey.table, survey.fingerprint):
            raise NotAllowed(
                f"the statement that came with survey {survey.table} is about another survey, or "
                "by another author; nothing was sent"
            )
        if not self.issued <= day <= self.until:
            raise NotAllowed(
                f"the statement that came with survey {survey.table} is believed from "
                f"{self.issued} to {self.until}, and this device's day is {day}: ask the "
                "collector again, and check the clock; nothing was sent"
            )

    def remember(self, seen: dict[str, list[str]]) -> None:
        """Write it down among those that were seen: by author and table, the day on which the
        latest one was issued, and the survey. NotAllowed where one was seen that was issued
        later, or on the same day about another survey."""
        said, own = f"{self.author}:{self.table}", [self.issued.isoformat(), self.fingerprint]
        if said not in seen or seen[said][0] < own[0]:
            seen[said] = own
        if seen[said] != own:
            raise NotAllowed(
                f"this device has seen a later statement about the survey {self.table} than the "
                f"one of {self.issued}: the collector hands out an old one; nothing was sent"
            )
