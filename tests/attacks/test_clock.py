"""A clock that jumps, or that somebody sets: no fresh report, and no old one, leaves for it."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from support.giving import PLENTY, scheduled, sealed_anew, yes_or_no
from support.surveys import SMALL

from ldpsql.designer import design
from ldpsql_device.answer import respond
from ldpsql_device.errors import InterfaceError, OperationalError
from ldpsql_device.ledger import _NEVER, Ledger, _Content
from ldpsql_device.policy import Policy

MONTHS = [date(2026, month, 15) for month in range(1, 13)]
RECORD = {"age": 30, "positive": True}


class Forgetful(Ledger):
    """A ledger that takes any clock's word: the defence taken out."""

    def _see(self, content, today):
        content.latest = _NEVER
        return super()._see(content, today)


def left(surveys, days, ledger, policy):
    """The ids of the reports that left, day by day; None where none did."""
    ids = []
    for asked, day in zip(surveys, days, strict=True):
        try:
            ids.append(respond(asked, RECORD, policy=policy, ledger=ledger, today=day).id)
        except OperationalError:
            ids.append(None)
    return ids


def backwards(kind, folder):
    """A monthly survey is asked by a clock that runs back through a year."""
    asked = scheduled(design(SMALL), period="month")
    ids = left([asked] * 12, MONTHS[::-1], kind(folder / "ledger", **PLENTY), Policy(1))
    return len(set(ids) - {None})


def test_past_periods_cannot_be_opened_again(memory_folder):
    """The control: a clock that is believed opens every period."""
    for number, (kind, reports) in enumerate(((Ledger, 1), (Forgetful, 12))):
        (folder := memory_folder / str(number)).mkdir()
        assert backwards(kind, folder) == reports


def late(kind, folder, **schedule):
    """Whether a report leaves that is too old, by a clock that is set back."""
    asked, drawn = scheduled(design(SMALL), **schedule), date(2026, 5, 20)
    ledger = kind(folder / "ledger", **PLENTY)
    days = [drawn, drawn + timedelta(days=8), drawn + timedelta(days=2)]
    first, refused, again = left([asked] * 3, days, ledger, Policy(1))
    assert first is not None
    assert refused is None
    return again == first


@pytest.mark.parametrize("kind", [Ledger, Forgetful])
@pytest.mark.parametrize("schedule", [{"replay_window": 5}, {"end": date(2026, 5, 25)}])
def test_a_report_does_not_leave_late(memory_folder, schedule, kind):
    """The refusal itself is what the ledger remembers the day by; the control believes a clock."""
    assert late(kind, memory_folder, **schedule) == (kind is Forgetful)


def wild(kind, folder, renewal):
    """Sixty surveys about one attribute, by a clock that jumps between May and June."""
    days = [date(2026, 5 + number % 2, 1 + number % 28) for number in range(60)]
    ledger = kind(folder / "ledger", total=2, per_attribute=1)
    policy = Policy(1, renewal=renewal)
    surveys = sealed_anew(yes_or_no(), 60)
    return 60 - left(surveys, days, ledger, policy).count(None)


class Undated(Ledger):
    """The control: answers whose day is forgotten are not counted."""

    def _check_budgets(self, content, *asked):
        undated = _Content(content.salt, content.latest, {})
        undated.answers = [answer._replace(day=1) for answer in content.answers]
        super()._check_budgets(undated, *asked)


@pytest.mark.parametrize(
    ("kind", "renewal", "reports"),
    [(Ledger, "month", 2), (Ledger, None, 1), (Undated, "month", 60)],
)
def test_no_clock_renews_a_budget_but_once_where_the_policy_does(
    memory_folder, kind, renewal, reports
):
    assert wild(kind, memory_folder, renewal) == reports


def test_a_clock_that_was_ahead_gives_no_more_than_the_days_it_jumped_over(memory_folder):
    """What was answered by a wrong date counts when that date comes."""
    asked = scheduled(design(SMALL), period="month")
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    days = [MONTHS[0], MONTHS[5], *MONTHS[1:]]
    ids = left([asked] * 13, days, ledger, Policy(1))
    assert ids[2:7] == [ids[1]] * 5  # February to June
    assert len(set(ids)) == 8
    assert ledger.spent() == 8


def far(kind, folder, **absence):
    """What leaves when a clock jumps to the year 9999 and is then set right."""
    monthly, other = scheduled(design(SMALL), period="month"), scheduled(design(SMALL))
    ledger = kind(folder / "ledger", **PLENTY, **absence)
    days = [MONTHS[0], date(9999, 12, 31), MONTHS[1], MONTHS[2]]
    ids = left([monthly] * 4, days, ledger, Policy(1))
    ends = scheduled(other, end=date(2026, 12, 31))
    return ids, left([ends], [MONTHS[2]], ledger, Policy(1))


def test_a_clock_that_jumps_beyond_all_sense_is_not_believed(memory_folder):
    """Neither is a period of that year answered, nor are surveys closed that end before it."""
    (january, never, february, march), (survey_with_an_end,) = far(Ledger, memory_folder)
    assert never is None
    assert len({january, february, march, survey_with_an_end, None}) == 5


def test_control_a_clock_that_may_jump_so_far_closes_every_survey(memory_folder):
    (january, late, february, march), others = far(Ledger, memory_folder, longest_absence=4_000_000)
    assert late not in (january, None)
    assert february == march == late
    assert others == [None]


def test_a_device_that_was_off_for_long_is_answered_when_its_app_says_so(memory_folder):
    asked = scheduled(design(SMALL), period="month")
    days = [date(2026, 1, 1), date(2027, 1, 2), date(2028, 1, 4), date(2028, 1, 5)]
    ledger = Ledger(memory_folder / "ledger", **PLENTY)
    first, second, refused, _ = left([asked] * 4, days, ledger, Policy(1))
    assert None not in (first, second)
    assert refused is None
    patient = Ledger(memory_folder / "ledger", **PLENTY, longest_absence=1000)
    assert left([asked], [date(2028, 1, 4)], patient, Policy(1)) != [None]
    assert left([asked], [date(2028, 1, 5)], ledger, Policy(1)) != [None]


@pytest.mark.parametrize("days", [0, -1, 1.5, True, None, "9"])
def test_an_absence_is_a_number_of_days(memory_folder, days):
    with pytest.raises(InterfaceError, match="a number of days"):
        Ledger(memory_folder / "ledger", **PLENTY, longest_absence=days)
