"""Runs on the device. Sees parameters. What a device must have accepted before it answers.

Whoever designed a survey has accepted what it gives away for themselves, not for those who answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError


@dataclass(frozen=True)
class Consent:
    """What is accepted on the device, beside a promise that covers every value.

    no_guarantee: that nothing is promised.  disclosure: that values which the survey does not
    declare sensitive, or with a small probability the whole record, are given away.
    """

    no_guarantee: bool = False
    disclosure: bool = False

    def require(self, survey: Survey) -> None:
        """SurveyError for a survey that promises less than was accepted."""
        kind = survey.design.guarantee.kind
        if kind == "none":
            self._require_no_guarantee(survey)
        elif kind != "local" or survey.design.guarantee.delta:
            self._require_disclosure(survey)

    def _require_no_guarantee(self, survey: Survey) -> None:
        if not self.no_guarantee:
            raise SurveyError(
                f"survey {survey.table} is not differentially private ({survey.design.name}): a "
                "report can give a record away; nothing was sent. Say accept_no_guarantee=True "
                "(ldpsql randomize --accept-no-guarantee) if nobody's privacy is at stake"
            )

    def _require_disclosure(self, survey: Survey) -> None:
        if not self.disclosure:
            raise SurveyError(
                f"survey {survey.table} ({survey.design.name}) {_what_is_given_away(survey)}; "
                "nothing was sent. Say accept_disclosure=True (ldpsql randomize "
                "--accept-disclosure) if whoever answers knows that and agrees"
            )


def spared_attributes(survey: Survey) -> tuple[str, ...]:
    """The dimensions of which some values are not declared sensitive."""
    domain = survey.schema.record_domain
    return tuple(
        name
        for j, (name, size) in enumerate(zip(domain.names, domain.sizes, strict=True))
        if len(domain.sensitive_codes(j)) < size
    )


def _what_is_given_away(survey: Survey) -> str:
    delta = survey.design.guarantee.delta
    if delta:
        names = ", ".join(survey.schema.private_columns)
        return f"sends {names} in clear with probability {float(delta):g}"
    names = ", ".join(spared_attributes(survey))
    return (
        f"does not protect all values of {names}: a report may give away those that the survey "
        "does not declare sensitive"
    )
