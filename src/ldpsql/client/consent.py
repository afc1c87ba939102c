"""Runs on the device. Sees parameters. What a device must have accepted before it answers."""

from __future__ import annotations

from ldpsql.errors import SurveyError
from ldpsql.survey import Survey


def require_guarantee(survey: Survey, *, accepted: bool) -> None:
    """SurveyError for a survey that promises nothing, unless that was accepted on this side too.

    Whoever designed the survey has accepted it for themselves, not for those who answer.
    """
    if survey.design.guarantee.kind == "none" and not accepted:
        raise SurveyError(
            f"survey {survey.table} is not differentially private ({survey.design.name}): a report "
            "can give a record away; nothing was sent. Say accept_no_guarantee=True (ldpsql "
            "randomize --accept-no-guarantee) if nobody's privacy is at stake"
        )
