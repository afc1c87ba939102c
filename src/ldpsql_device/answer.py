"""One person's answer to one survey: policy, ledger, encoding, draw, report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, overload

from ldpsql_device.encode import Record, encode, public_values
from ldpsql_device.entropy import Entropy, OsEntropy
from ldpsql_device.policy import Policy
from ldpsql_device.reports import Report
from ldpsql_device.survey import Published, utc_today

if TYPE_CHECKING:
    from ldpsql_device.ledger import Ledger
    from ldpsql_device.pledge import Pledge, Sealed
    from ldpsql_device.statement import Statement


def randomize_record(survey: Published, record: Record, entropy: Entropy) -> list[int]:
    """The whole numbers of one person's report, by the columns of the survey's plan.

    Encoding takes `survey.schema.words` random words, and drawing `survey.plan.words` more.
    """
    codes = encode(survey.schema, record, entropy)
    return [int(column[0]) for column in survey.draw(codes, entropy)]


def draw_report(survey: Published, record: Record, day: date) -> Report:
    """A new report of a record, in the period of a day."""
    numbers = randomize_record(survey, record, OsEntropy())
    public = {**survey.period_values(day), **public_values(survey.record_schema, record)}
    return Report.of(survey, numbers, public)


@overload
def respond(
    survey: Published,
    record: Record,
    *,
    policy: Policy,
    ledger: Ledger | None = None,
    statement: Statement | None = None,
    today: date | None = None,
    period: date | None = None,
    pledge: None = None,
) -> Report: ...


@overload
def respond(
    survey: Published,
    record: Record,
    *,
    policy: Policy,
    ledger: Ledger | None = None,
    statement: Statement | None = None,
    today: date | None = None,
    period: date | None = None,
    pledge: Pledge,
) -> Sealed: ...


def respond(
    survey: Published,
    record: Record,
    *,
    policy: Policy,
    ledger: Ledger | None = None,
    statement: Statement | None = None,
    today: date | None = None,
    period: date | None = None,
    pledge: Pledge | None = None,
) -> Report | Sealed:
    """Answer a survey for one person: the record stays here, the report may leave.

    policy: what any survey may take, which is checked first.  ledger: what this person has given
    so far. With one, a second answer to the same survey is the first one again, and what its
    budgets do not cover is refused.  statement: what its author says the table asks, as a collector
    answers; with one, and a ledger, no earlier survey of the table is answered any more.  today:
    the day in UTC, by the system's clock if left out.  period: with a ledger, the first day of a
    period that has ended, which the record is about; the running one if left out.  pledge: of a
    shuffler that the policy names; with one the report can be read by that shuffler alone, and
    costs what it costs once shuffled.

    Raises NotAllowed, also before the survey's first day and after its last, and without a ledger
    for a survey that asks each device in some of its periods; and what `Ledger.answer` raises, all
    of which depend on the survey and not on the record: whatever that holds is encoded
    (`ldpsql_device.encode`). TypeError for what is no record at all.
    """
    policy.require(survey, pledge)
    if not isinstance(record, Mapping):
        raise TypeError("a record is a mapping of columns to values")
    day = utc_today() if today is None else today
    if ledger is not None:
        report = ledger.answer(
            survey,
            lambda of: draw_report(survey, record, of),
            today=day,
            period=period,
            renewal=policy.renewal,
            statement=statement,
            pledge=pledge,
        )
    else:
        survey.require_open(day)
        survey.refuse_without_ledger()
        if statement is not None:
            statement.require(survey, day)
        if pledge is not None:
            pledge.require_day(survey, day)
        report = draw_report(survey, record, day)
    return report if pledge is None else pledge.seal(report)
