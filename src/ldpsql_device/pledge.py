"""A shuffler's pledge: what it signs of one survey, and the key to which reports are sealed.

A policy that names the shuffler's key trusts it to mix; nobody else is believed. A report that is
given because of a pledge leaves the device only sealed, to the key in it. A device loads this where
an app hands it a pledge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

from ldpsql_device.epsilon import decimal_text
from ldpsql_device.errors import NotAllowed, SurveyError, expect
from ldpsql_device.hpke import seal
from ldpsql_device.shuffled import Shuffled
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
    from ldpsql_device.policy import Policy
    from ldpsql_device.reports import Report
    from ldpsql_device.survey import Published

VERSION = 1
INFO = b"ldpsql sealed report 1"
"""What a sealed message is, in HPKE's words."""
_KEYS = (
    "ldpsql_pledge", "fingerprint", "shuffle", "until", "encryption", "shuffler", "signature"
)  # fmt: skip


@dataclass(frozen=True)
class Sealed:
    """A report as it leaves the device for a shuffler.

    sealed: the sender's key for this message and the encrypted line of the report, in hexadecimal.
    """

    sealed: str

    def to_json(self) -> str:
        """One line of JSON: {"sealed": ...}."""
        return f'{{"sealed":"{self.sealed}"}}'


@dataclass(frozen=True)
class Pledge:
    """A shuffler's pledge for one survey.

    fingerprint: of the survey.  shuffled: the smallest and least honest batch that it hands over,
    and the epsilon and delta that it found for that itself, from the plan.  until: the last day
    (UTC) on which it is believed.  encryption: the X25519 key to which reports are sealed.
    shuffler, signature: an Ed25519 public key, and its signature of the rest.  text: its canonical
    JSON.
    """

    fingerprint: str
    shuffled: Shuffled
    until: date
    encryption: str
    shuffler: str
    signature: str
    text: str

    @classmethod
    def from_json(cls, text: str) -> Pledge:
        """Read what a shuffler answers of a survey.

        SurveyError for anything else than a pledge by the owner of the key that it names, and for
        an encryption key with which anybody could read reports. NotSupportedError where the library
        that checks signatures is missing.
        """
        data = parse_json(text)
        require_keys(data, "the pledge", _KEYS)
        if data["ldpsql_pledge"] != VERSION or type(data["ldpsql_pledge"]) is not int:
            raise SurveyError(f"not a pledge of version {VERSION}, which is the one known here")
        require_hashes(data["fingerprint"], data["encryption"])
        check_author(data["shuffler"], data["signature"])
        expect(None not in data.values(), "not a pledge: a key is null")
        shuffled = Shuffled.from_json(data["shuffle"], "pledge.shuffle")
        until = read_day(data["until"], "pledge.until")
        verify(data["shuffler"], data["signature"], signed_text(data))
        seal(b"", data["encryption"], INFO, b"")
        return cls(
            data["fingerprint"],
            shuffled,
            until,
            encryption=data["encryption"],
            shuffler=data["shuffler"],
            signature=data["signature"],
            text=canonical(data),
        )

    @classmethod
    def sign(
        cls, survey: Published, key: SigningKey, shuffled: Shuffled, encryption: str, until: date
    ) -> Pledge:
        """Pledge what a survey needs.

        shuffled: the smallest and least honest batch that is handed over, with an epsilon and a
        delta that it keeps by the plan, as the signer has computed.  encryption: a public
        X25519 key.  SurveyError for what is weaker than the survey's own promise.
        """
        data = {
            "ldpsql_pledge": VERSION,
            "fingerprint": survey.fingerprint,
            "shuffle": shuffled.to_json(),
            "until": until.isoformat(),
            "encryption": encryption,
            "shuffler": key.author,
        }
        pledge = cls.from_json(canonical({**data, "signature": key.sign(canonical(data))}))
        pledge.require_fit(survey)
        return pledge

    def seal(self, report: Report) -> Sealed:
        """A report of the survey that only the shuffler can read; each time another message."""
        line, associated = report.to_json().encode(), self.fingerprint.encode()
        return Sealed(seal(line, self.encryption, INFO, associated).hex())

    @property
    def recipient(self) -> str:
        """Who alone may get a report that was given because of it: both keys of the shuffler."""
        return f"{self.shuffler}:{self.encryption}"

    def require(self, survey: Published, policy: Policy) -> None:
        """NotAllowed unless it is by a shuffler that a policy names and fits the survey, and the
        survey takes no more than the policy allows of shuffled reports."""
        for problem in self._problems(survey, policy):
            raise NotAllowed(f"survey {survey.table} {problem}; nothing was sent")

    def _problems(self, survey: Published, policy: Policy) -> Iterator[str]:
        """What keeps a device from believing it, or from answering because of it."""
        if self.shuffler not in (policy.shufflers or ()):
            yield "comes with the pledge of a shuffler that the policy does not name (shufflers)"
        for misfit in self._misfits(survey):
            yield f"comes with a pledge that {misfit}"
        local, central = survey.guarantee.epsilon, survey.guarantee.central
        if local is None or Fraction(local.value) > policy.max_local_epsilon:
            yield (
                f"tells its shuffler a report of epsilon {local} by itself, and the policy allows "
                f"{decimal_text(policy.max_local_epsilon)} (max_local_epsilon=...)"
            )
        if central is None or central.delta > policy.max_shuffled_delta:
            yield (
                f"is {central}, and the policy allows delta "
                f"{float(policy.max_shuffled_delta):g} (max_shuffled_delta=...)"
            )

    def require_day(self, survey: Published, day: date) -> None:
        """NotAllowed for a day after the last one on which it is believed."""
        if day > self.until:
            raise NotAllowed(
                f"the pledge that came with survey {survey.table} ended on {self.until}, and this "
                f"device's day is {day}: ask the shuffler again, and check the clock; nothing was "
                "sent"
            )

    def require_fit(self, survey: Published) -> None:
        """SurveyError unless it pledges at least what a survey promises once shuffled."""
        for misfit in self._misfits(survey):
            raise SurveyError(f"survey {survey.table}: the pledge {misfit}")

    def _misfits(self, survey: Published) -> Iterator[str]:
        claimed = survey.shuffled
        if self.fingerprint != survey.fingerprint:
            yield "is about another survey"
        bare = survey.guarantee.epsilon is None or survey.guarantee.delta or survey.schema.public
        if claimed is None or bare:
            yield "is about a survey that no shuffler hides: it sends something in clear"
            return
        if self.shuffler == survey.author:
            yield "is by the survey's own author, who cannot hide reports from themselves"
        own = self.shuffled
        if own.users < claimed.users or own.honest > claimed.honest:
            yield (
                f"is about batches of {own.users:,} reports, {own.honest} of them honest; the "
                f"survey says {claimed.users:,} and {claimed.honest}"
            )
        if own.epsilon.value > claimed.epsilon.value or own.delta > claimed.delta:
            yield f"is {own.central}, which is less than the survey's {claimed.central}"
