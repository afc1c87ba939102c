"""The door for sealed reports of one survey: the pledge that brings them, and what opens them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from ldpsql.shuffle.accountant import epsilon_of_batch, keeps
from ldpsql.shuffle.blankets import find_blanket
from ldpsql.shuffler.batch_file import require_trust
from ldpsql.shuffler.opener import Opener
from ldpsql.store.incoming import Read, check_sent
from ldpsql.store.intake import Intake
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import ReportError, SurveyError
from ldpsql_device.pledge import Pledge
from ldpsql_device.shuffled import Shuffled
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey, utc_today

BELIEVED = timedelta(days=7)
"""How long a pledge is believed after the day on which it was signed."""
REASON = "it is not a report sealed for this survey and this shuffler"
"""The same for everything, so that a sender cannot tell how far a line came."""


class SealedDoor:
    """Where reports of one survey arrive that only this shuffler can read."""

    def __init__(self, intake: Intake, key: SigningKey, opener: Opener) -> None:
        """key: with which pledges are signed.  opener: to which reports are sealed.  SurveyError
        for a survey whose promise does not hold, by its plan, and for one by the same key."""
        self._intake, self._key, self._opener = intake, key, opener
        self._survey = Survey.from_json(intake.device_text)
        self._found = find_promise(self._survey, intake)
        self._day, self._text = date.min, ""
        self.sign_pledge(utc_today())

    def sign_pledge(self, today: date) -> str:
        """The pledge that is handed out on a day, the same all day."""
        if self._day != today:
            last = self._intake.schedule.end
            until = today + BELIEVED if last is None else min(today + BELIEVED, last)
            pledge = Pledge.sign(self._survey, self._key, self._found, self._opener.public, until)
            self._day, self._text = today, pledge.text
        return self._text

    def read(self, lines: Sequence[bytes]) -> Read:
        """Sealed lines as devices send them: the reports in them, None if there are none, and the
        places of the others, all for one reason."""
        opened, places = list[bytes](), list[int]()
        for place, line in enumerate(lines):
            try:
                text = line.decode("utf-8", "replace")
                opened.append(self._opener.open_report(text, self._intake.fingerprint).encode())
                places.append(place)
            except ReportError:
                pass
        reports, refused = check_sent(self._intake, opened) if opened else (None, [])
        bad = {places[place] for place, _ in refused} | {*range(len(lines))}.difference(places)
        return reports, [(place, REASON) for place in sorted(bad)]


def find_promise(survey: Survey, intake: Intake) -> Shuffled:
    """What the smallest and least honest batch of a survey keeps by its plan, whatever the survey
    says; SurveyError where that is less."""
    trust = require_trust(intake)
    central, local = trust.central, survey.guarantee.epsilon
    blankets = (find_blanket(survey.plan),)
    if local is None or not keeps(blankets, central, local):
        raise SurveyError(
            f"survey {survey.table} promises {central}, and its plan does not keep that; no "
            "shuffler can promise it. Design it again"
        )
    found = epsilon_of_batch(blankets, central.people, central.delta, local)
    least = min(value for value in (found, trust.epsilon.value) if value is not None)
    return Shuffled(Epsilon(least), trust.delta, trust.users, trust.honest)
