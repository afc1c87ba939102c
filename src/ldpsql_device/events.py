"""What becomes of events: the record of a period, answered once when the period has ended.

`report` is what a program calls as it starts, and from time to time where it runs for long. While
nothing is due it returns at once, loads no numpy and asks no network. Which periods are answered,
and when, depends on days and on the survey, never on what was counted: a period without any event
is answered like every other.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import date, timedelta
from itertools import accumulate

from ldpsql_device.counters import DAY, LARGEST, MOST_BINS, Counters, middle_of
from ldpsql_device.errors import Error, InterfaceError, NotAllowed, NotAsked

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in `counters`
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ldpsql_device.collector import Delivery
    from ldpsql_device.counters import Entry
    from ldpsql_device.ledger import Ledger
    from ldpsql_device.policy import Policy
    from ldpsql_device.reports import Report
    from ldpsql_device.schema import Schema
    from ldpsql_device.statement import Statement
    from ldpsql_device.survey import Published, Schedule

LATEST = 31
"""Days after its end for which a period is answered: of a device that was off for longer, only what
ended last."""
_MOST_SURVEYS, _LONGEST_WORDS = 16, 16_000
_EPOCH = date(1970, 1, 1).toordinal()


def report(
    counters: Counters,
    url: str,
    table: str,
    *,
    policy: Policy,
    ledger: Ledger,
    record: Mapping[str, Any] | None = None,
    today: date | None = None,
) -> Delivery | None:
    """Answer a table of a collector for every period that has ended, and send the reports.

    url: of the collector.  record: values of columns that are no events.  today: the day in UTC, by
    the clock of the counters if left out.

    None where nothing is due. Something is as the first day of a period comes, and is tried once a
    day until nothing is refused and the collector has the reports: each of them is drawn once, kept
    in the ledger, and sent as it is. Raises what `ldpsql_device.collector.Collector.fetch` and
    `answer_periods` raise; what was answered nevertheless is sent.
    """
    day = _day_of(counters) if today is None else today
    number = day.toordinal() - _EPOCH
    with counters.open() as (_, state):
        # A day that is further ahead than any period is long was a wrong clock's.
        if 0 < state["next"].get(table, 0) - number <= LATEST:
            return None
        state["next"][table] = number + 1
    from ldpsql_device.collector import Collector  # noqa: PLC0415  (loads numpy, when it is due)
    from ldpsql_device.description import describe  # noqa: PLC0415

    collector = Collector(url)
    survey, statement = collector.fetch(table, policy=policy)
    given: dict[date, Report] = {}
    refusal = None
    try:
        given.update(
            answer_periods(
                survey,
                counters,
                policy=policy,
                ledger=ledger,
                record=record,
                statement=statement,
                today=day,
            )
        )
    except Error as error:
        refusal = error
    delivery, words = collector.send(survey, given.values()), describe(survey)
    with counters.open() as (database, state):
        if not delivery.waiting:
            if refusal is None:
                state["next"][table] = days_of(survey.schedule, day).stop
            if given:
                state["answered"][_key(survey)] = max(given).toordinal() - _EPOCH
        row = (survey.fingerprint, words[:_LONGEST_WORDS])
        database.execute("INSERT OR IGNORE INTO surveys VALUES (?, ?)", row)
        kept = "SELECT rowid FROM surveys ORDER BY rowid DESC LIMIT ?"
        database.execute(f"DELETE FROM surveys WHERE rowid NOT IN ({kept})", (_MOST_SURVEYS,))
    if refusal is not None:
        raise refusal
    return delivery


def answer_periods(
    survey: Published,
    counters: Counters,
    *,
    policy: Policy,
    ledger: Ledger,
    record: Mapping[str, Any] | None = None,
    statement: Statement | None = None,
    today: date | None = None,
) -> Iterator[tuple[date, Report]]:
    """The first day and the report of every period that has ended and is to be answered.

    These are the periods since the counters began, or the latest one of which the collector has a
    report, that ended at most `LATEST` days ago and have a day on which the survey is open; none on
    a day on which it is not. A record is closed before it is answered: what is counted later, of a
    process that slept, belongs to the running period. A device that is killed closes it again with
    what it held, and the ledger gives the same report again.

    Raises InterfaceError for a survey without periods, and what `respond` raises; NotAllowed after
    the other periods, since a report may be too old to be sent where later ones are not.
    """
    from ldpsql_device.answer import respond  # noqa: PLC0415  (loads numpy)

    day = _day_of(counters) if today is None else today
    policy.require(survey)
    with counters.open() as (_, state):
        born, answered = state["born"], state["answered"].get(_key(survey), -1)
    refusal = None
    for days in periods_due(survey.schedule, born, answered, day):
        own = record_of(survey.record_schema, counters, days, closes=True)
        period = _date(days.start)
        try:
            given = respond(
                survey,
                {**(record or {}), **own},
                policy=policy,
                ledger=ledger,
                statement=statement,
                today=day,
                period=period,
            )
        except NotAsked:  # it asks in some of its periods, whatever was counted
            continue
        except NotAllowed as error:
            refusal = error
            continue
        yield period, given
    if refusal is not None:
        raise refusal


def preview(
    survey: Published,
    counters: Counters,
    *,
    policy: Policy,
    record: Mapping[str, Any] | None = None,
    today: date | None = None,
) -> Report:
    """A report of the running period so far, such as may be sent when it has ended.

    It is drawn anew each time, nothing is closed, charged or sent, and it is not the one that will
    be sent. To hand it on is to give it.
    """
    from ldpsql_device.answer import draw_report  # noqa: PLC0415  (loads numpy)

    day = _day_of(counters) if today is None else today
    policy.require(survey)
    days = days_of(survey.schedule, day)
    own = record_of(survey.record_schema, counters, days, closes=False)
    return draw_report(survey, {**(record or {}), **own}, _date(days.start))


def periods_due(schedule: Schedule, born: int, answered: int, today: date) -> list[range]:
    """The days of every period that is to be answered, the earliest period first.

    born: the first day of the counters.  answered: the first day of the latest period that was
    answered.
    """
    is_open = (schedule.start is None or schedule.start <= today) and not schedule.has_ended(today)
    day, end = today.toordinal() - _EPOCH, days_of(schedule, today).start
    answered = answered if answered <= day else -1  # by a clock that was ahead
    opens = 0 if schedule.start is None else schedule.start.toordinal() - _EPOCH
    due: list[range] = []
    while is_open and end > max(born, opens) and end >= day - LATEST:
        days = days_of(schedule, _date(end - 1))
        if days.start <= answered:
            break
        due.append(days)
        end = days.start
    return due[::-1]


def days_of(schedule: Schedule, day: date) -> range:
    """The days of a day's period, from 1970-01-01 on; InterfaceError for a survey without."""
    first = schedule.period_of(day)
    if first is None:
        raise InterfaceError("events are for a survey with a period, which this one has not")
    end = day
    while schedule.period_of(end) == first:
        end += timedelta(days=1)
    return range(first.toordinal() - _EPOCH, end.toordinal() - _EPOCH)


def record_of(schema: Schema, counters: Counters, days: range, *, closes: bool) -> dict[str, Any]:
    """The values of the columns that are events, from what was counted on some days."""
    asked = {
        column.name: _read(column.event, column.name)
        for column in schema.attributes
        if column.event is not None
    }
    counted = counters.read((name for _, name in asked.values()), days, closes=closes)
    return {column: value_of(what, counted[name]) for column, (what, name) in asked.items()}


def _read(event: str, column: str) -> tuple[str, str]:
    """What is asked of which name: "p95 of request", or "p95" alone of the column's own name."""
    what, _, name = event.partition(" of ")
    return what, name or column


def value_of(what: str, counted: Sequence[Entry]) -> Any:
    """What becomes of the events of one name; None is a missing value.

    what: "count", "days", "seen", "last", "largest" or a quantile such as "p95", in milliseconds.
    counted: see `Counters.read`. It takes as many steps whatever was counted.
    """
    *days, last = counted
    if what == "count":
        return min(sum(entry.get("count", 0) for entry in days), LARGEST)
    if what == "days":
        return sum(map(bool, days))
    if what == "seen":
        return any([*map(bool, days)])
    if what == "last":
        return last["last"]
    if what == "largest":
        numbers = [entry.get("largest", float("-inf")) for entry in days]
        return None if max(numbers) == float("-inf") else max(numbers)
    times = [entry.get("times", {}) for entry in days]
    ranks = [*accumulate(sum(each.get(str(i), 0) for each in times) for i in range(MOST_BINS))]
    # The smallest of them below which or at which so many lie.
    rank = -(-ranks[-1] * int(what[1:]) // 100)
    found = middle_of(bisect_left(ranks, max(rank, 1), hi=MOST_BINS - 1))
    return found if ranks[-1] else None


def _key(survey: Published) -> str:
    return f"{survey.author or ''}:{survey.table}"


def _day_of(counters: Counters) -> date:
    return _date(int(counters.clock() // DAY))


def _date(number: int) -> date:
    return date.fromordinal(number + _EPOCH)
