"""The door of a device: whatever records hold."""

from __future__ import annotations

import random
from datetime import date

from fuzz.harness import Case, Door, Finding
from fuzz.values import FAILING, VALUES, draw_expression, value_of
from support.surveys import (
    ANYTHING,
    CountedEntropy,
    app,
    mix,
    mostly_in_clear,
    partly_sensitive,
)

from ldpsql_device.answer import randomize_record, respond
from ldpsql_device.reports import read_report
from ldpsql_device.survey import Survey

_TODAY = date(2026, 5, 20)


class Records(Door):
    """Records that may hold anything.

    Every one is answered: with a report of one length, for one number of random words.
    """

    name = "records"

    def __init__(self) -> None:
        designed = (app(), mix(), partly_sensitive("cprr"), mostly_in_clear())
        self._surveys = [Survey.from_json(each.device_text) for each in designed]

    def draw(self, chosen: random.Random) -> Case:
        number = chosen.randrange(len(self._surveys))
        names = [column.name for column in self._surveys[number].record_schema.attributes]
        held = [name for name in (*names, "more") if chosen.random() < 0.9]
        pairs = (f"{name!r}: {draw_expression(chosen, FAILING)}" for name in held)
        record = f"{{{', '.join(pairs)}}}"
        if chosen.random() < 0.05:
            record = f"{{{draw_expression(chosen, FAILING)}: {chosen.choice(VALUES)}}}"
        return {"survey": number, "record": record}

    def put(self, case: Case) -> str:
        survey = self._surveys[case["survey"]]
        try:
            record = value_of(case["record"])
        except (TypeError, OSError):  # a key that has no hash
            return "no record"
        report = respond(survey, record, policy=ANYTHING, today=_TODAY)
        if read_report(report.to_json(), survey) != report:
            raise Finding(f"another report once it is read: {case}")
        if len(report.report) != sum(survey.report_widths) // 4:
            raise Finding(f"a report of {len(report.report)} digits: {case}")
        entropy = CountedEntropy()
        randomize_record(survey, record, entropy)
        words = survey.schema.words + survey.plan.words
        if entropy.given != words:
            raise Finding(f"{entropy.given} words in place of {words}: {case}")
        return f"answered, {case['survey']}"
