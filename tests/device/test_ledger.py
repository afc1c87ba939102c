"""What a person has given: remembered, bounded, and never read wrongly."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, timedelta
from decimal import localcontext
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import pytest
from support.giving import PLENTY, scheduled, sealed_anew, yes_or_no
from support.later_rounds import next_survey
from support.surveys import ANYTHING, RECORD, SMALL, TOML, app, measure, mostly_in_clear

from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_device import ledger as module
from ldpsql_device.answer import respond
from ldpsql_device.errors import (
    BudgetSpent,
    InterfaceError,
    NotAllowed,
    OperationalError,
    StoreError,
)
from ldpsql_device.ledger import Ledger
from ldpsql_device.policy import Policy
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey as DeviceSurvey

TODAY = date(2026, 5, 20)


@cache
def survey(epsilon: str, table: str = "app") -> Survey:
    text = TOML.replace('table = "app"', f'table = "{table}"')
    return design(text, epsilon=epsilon)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def plenty(path: Path) -> Ledger:
    return Ledger(path, **PLENTY)


def answer(asked, ledger, record=RECORD, today=TODAY, policy=ANYTHING):
    return respond(asked, record, policy=policy, ledger=ledger, today=today)


def test_a_second_answer_is_the_first_one_again(path):
    asked = app()
    first = answer(asked, plenty(path))
    other = {**RECORD, "age": 80, "version": "9"}
    assert all(answer(asked, plenty(path), other) == first for _ in range(20))
    assert plenty(path).spent() == 2


@pytest.mark.parametrize(
    "version", ["half: \ud83d", "a\0b\n\u202e", "é" * 10_000, float("nan"), b"x"]
)
def test_whatever_a_record_holds_is_answered_and_remembered(path, version):
    report = answer(app(), plenty(path), {**RECORD, "version": version})
    assert report.to_json().encode()
    assert answer(app(), plenty(path), {}) == report


def test_budgets_are_required():
    with pytest.raises(TypeError):
        Ledger("ledger")
    with pytest.raises(TypeError):
        Ledger("ledger", total=1)
    for wrong in (-1, "much", float("inf"), None):
        with pytest.raises(InterfaceError):
            Ledger("ledger", total=1, per_attribute=wrong)


def test_the_budget_is_exact(path):
    """0.1 + 0.2 is 0.3, no more, and 0.001 above is too much; in any context of decimals."""
    ledger = Ledger(path, total=0.3, per_attribute="0.3")
    with localcontext() as context:
        context.prec = 3
        answer(survey("0.1", "a"), ledger)
        answer(survey("0.2", "b"), ledger)
        assert ledger.spent() == Fraction(3, 10)
        with pytest.raises(BudgetSpent, match=r"0\.3 of the budget of 0\.3 in all is spent"):
            answer(survey("0.001", "c"), ledger)
    answer(survey("0.1", "a"), ledger)


def test_every_attribute_has_a_budget(path):
    """A dimension and a measure of one name are one attribute, whoever asks."""
    ledger = Ledger(path, total=10, per_attribute=1)
    one = '[survey]\ntable = "{}"\nepsilon = "0.6"\nmechanism = "hgrr"\n'
    age = '[dimension.age]\ntype = "int"\ndomain = [18, 90]\n'
    answer(design(one.format("a") + age), ledger)
    answer(design(one.format("b") + '[dimension.state]\ntype = "bool"\n'), ledger, {"state": True})
    with pytest.raises(BudgetSpent, match=r"0\.6 of the budget of 1 for age is spent"):
        answer(design(one.format("c") + measure("age", 0, 99)), ledger)
    assert ledger.spent() == Fraction(12, 10)


def test_deltas_have_a_budget(path):
    ledger = Ledger(path, total=10, per_attribute=10, delta="0.9")
    answer(mostly_in_clear(), ledger)
    other = design(SMALL, epsilon="2")
    answer(other, ledger)
    (again,) = sealed_anew(DeviceSurvey.from_json(mostly_in_clear().device_text), 1)
    with pytest.raises(BudgetSpent, match=r"asks for delta 0\.9, but 0\.9 of .* 0\.9"):
        answer(again, ledger)


def test_only_the_owner_can_read_it_and_no_record_or_name_is_in_it(path):
    answer(app(), plenty(path), {**RECORD, "spent": 123.4567})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    for hidden in (b"123.4567", b"spent", b"state", b"nobody reads this"):
        assert hidden not in content.split(b"CREATE", 1)[0] + content[8192:]
    assert [place.name for place in path.parent.iterdir()] == [path.name]


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-5000]),
    "a page of zeros": lambda path: overwrite(path, 4096, bytes(4096)),
    "no database": lambda path: path.write_text("{}" * 5000),
    "another database": lambda path: (path.unlink(), change(path, "CREATE TABLE a (b)")),
    "another version": lambda path: change(path, "UPDATE ledger SET format = 5"),
    "no version": lambda path: change(path, "DELETE FROM ledger"),
    "no answers": lambda path: change(path, "DROP TABLE answers"),
    **{
        sql: partial(lambda sql, path: change(path, sql), sql)
        for sql in (
            *("UPDATE answers SET report = '{}'", "UPDATE answers SET report = 5"),
            *("UPDATE answers SET epsilon = 'zz'", "UPDATE answers SET epsilon = '-5'"),
            *("UPDATE answers SET day = 'abc'", "UPDATE answers SET day = 0"),
            *("UPDATE ledger SET latest = 'abc'", "UPDATE ledger SET salt = 'abc'"),
            *("UPDATE answers SET delta = x'00'", f"UPDATE ledger SET latest = {9 * 10**18}"),
        )
    },
}


DAMAGED = "is damaged or of another version, so nothing is answered.*.that forgets what was given"


def overwrite(path, start, content):
    whole = path.read_bytes()
    path.write_bytes(whole[:start] + content + whole[start + len(content) :])


def change(path, sql):
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(sql)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_answers_nothing_and_is_not_touched(path, damage):
    asked = app()
    answer(asked, plenty(path))
    DAMAGES[damage](path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=DAMAGED):
        for each in (asked, survey("1", "another")):
            answer(each, plenty(path))
    assert path.read_bytes() == before


def test_a_ledger_that_cannot_be_made_or_opened_lets_nothing_leave(tmp_path):
    for place in (tmp_path / "nowhere" / "ledger", tmp_path):
        with pytest.raises(StoreError, match="nothing was sent"):
            answer(app(), plenty(place))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_what_is_not_a_file_is_refused_and_left_alone(path, monkeypatch):
    """A ledger is made readable by its owner alone; /dev/null must not be."""
    os.mkfifo(path)
    path.chmod(0o666)
    with pytest.raises(StoreError, match="is not a file; nothing was sent"):
        answer(app(), plenty(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    # The control.
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    with pytest.raises(StoreError):
        answer(app(), plenty(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_ledger_in_use_is_waited_for_and_then_said_to_be(path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    answer(survey("1", "a"), plenty(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is in use by another process; try again"):
            answer(survey("1", "b"), plenty(path))
    answer(survey("1", "b"), plenty(path))


def test_answers_given_at_the_same_time_do_not_overspend(path):
    surveys = [survey("0.3", f"t{i}") for i in range(8)]

    def attempt(asked):
        try:
            answer(asked, Ledger(path, total=1, per_attribute=1))
        except OperationalError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, surveys)) == 3
    assert plenty(path).spent() == Fraction(9, 10)


def test_links_are_one_ledger(path):
    """Also one to a file that is not there yet."""
    link = path.with_name("link")
    link.symlink_to(path)
    asked = app()
    assert answer(asked, plenty(link)) == answer(asked, plenty(path))
    assert link.is_symlink()


def rounds(key=None):
    first = design(SMALL, mechanism="ahead")
    first = first if key is None else first.sign(key)
    second = next_survey(first, key=key)
    return first, second, next_survey(second, key=key)


def test_a_device_answers_one_round(path):
    """Whichever comes first, and the same round again as often as it is asked."""
    first, second, third = rounds(SigningKey.create(path.with_name("key")))
    ledger = plenty(path)
    report = answer(second, ledger)
    for other in (first, third):
        with pytest.raises(NotAllowed, match="another round or version of survey small"):
            answer(other, ledger)
    assert answer(second, plenty(path)) == report
    assert ledger.spent() == 1
    answer(design(SMALL), ledger)
    answer(design(SMALL, mechanism="ahead", epsilon="2"), ledger)
    assert ledger.spent() == 4


def test_a_later_round_must_be_signed(path):
    first, second, _ = rounds()
    with pytest.raises(NotAllowed, match="a later round that its author has not signed"):
        answer(second, plenty(path))
    answer(first, plenty(path))


def test_every_period_is_answered_once(path):
    asked, ledger = scheduled(app(), period="month"), plenty(path)
    reports = [
        answer(asked, ledger, today=TODAY + timedelta(days=days)) for days in (0, 5, 11, 12, 42)
    ]
    assert reports[0] == reports[1] == reports[2]
    assert len({report.id for report in reports}) == 3
    assert [report.public["period"] for report in reports[2:]] == [
        date(2026, month, 1) for month in (5, 6, 7)
    ]
    assert ledger.spent() == 6


def test_periods_exhaust_a_budget_unless_the_policy_renews_it(path):
    asked = scheduled(app(), period="month")
    ledger = Ledger(path, total=2, per_attribute=2)
    answer(asked, ledger)
    june = TODAY + timedelta(days=20)
    with pytest.raises(BudgetSpent, match="2 of the budget of 2 in all is spent"):
        answer(asked, ledger, today=june)
    renewing = Policy(2, public={"day", "version"}, renewal="month")
    answer(asked, ledger, today=june, policy=renewing)
    for other in (survey("0.5", "b"), survey("2", "c")):
        with pytest.raises(BudgetSpent, match="2 of the budget of 2 in all is spent"):
            answer(other, ledger, today=june, policy=renewing)
    daily = Policy(2, public={"day", "version"}, renewal="day")
    answer(survey("2", "c"), ledger, today=june + timedelta(days=1), policy=daily)


def test_a_report_is_sent_again_within_its_window_only(path):
    asked = scheduled(app(), replay_window=10)
    report = answer(asked, plenty(path))
    assert answer(asked, plenty(path), today=TODAY + timedelta(days=10)) == report
    with pytest.raises(NotAllowed, match="answered more than 10 days ago, and its report is"):
        answer(asked, plenty(path), today=TODAY + timedelta(days=11))
    assert plenty(path).spent() == 2


def test_nothing_is_sent_after_the_end_of_a_survey_or_before_it_starts(path):
    asked = scheduled(app(), start=date(2026, 5, 10), end=date(2026, 5, 25))
    for ledger in (None, plenty(path)):
        for day in (date(2026, 5, 9), date(2026, 5, 26)):
            if ledger is not None and day > TODAY:
                assert answer(asked, ledger) == answer(asked, ledger, today=date(2026, 5, 25))
            with pytest.raises(NotAllowed, match=r"nothing is sent|is not answered before"):
                answer(asked, ledger, today=day)


def test_what_was_private_is_not_sent_in_clear_later(path):
    ledger = plenty(path)
    answer(yes_or_no(column="state"), ledger, {"state": True})
    text = SMALL + '[public.state]\ntype = "bool"\n'
    policy = Policy(1, public={"state"})
    with pytest.raises(NotAllowed, match="asks for state in clear, which this device has ans"):
        answer(design(text), ledger, {"age": 30, "state": True}, policy=policy)
    # The other way round nothing that was promised is broken.
    other = plenty(path.with_name("other"))
    answer(design(text), other, {"age": 30, "state": True}, policy=policy)
    answer(yes_or_no(column="state"), other, {"state": True})


def test_what_stands_where_a_new_ledger_would_be_made_is_never_written(path, monkeypatch):
    """Not even where somebody guessed its name and put a link there."""
    precious = path.with_name("precious")
    precious.write_bytes(b"")
    guessed = path.with_name(f".{path.name}.{bytes(8).hex()}.tmp")
    guessed.symlink_to(precious)
    monkeypatch.setattr(module.os, "urandom", bytes)
    with pytest.raises(StoreError, match="cannot write the ledger"):
        answer(app(), plenty(path))
    assert precious.read_bytes() == b""
    assert guessed.is_symlink()
    assert not path.exists()


class Windows:
    """`os` as it is on Windows: a rename replaces nothing, and what POSIX alone has is missing."""

    name = "nt"

    def __getattr__(self, name):
        if name in ("link", "geteuid", "getuid", "fork", "chmod", "fchmod"):
            raise AssertionError(f"os.{name} is not for Windows")
        return getattr(os, name)

    def rename(self, source, target):
        if Path(target).exists():
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        return Path(source).rename(target)


@pytest.fixture
def on_windows(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(module, "os", Windows())
    monkeypatch.setattr(Path, "chmod", lambda *_: pytest.fail("modes are POSIX's"))


def test_on_windows_it_is_made_read_and_waited_for(path, on_windows, monkeypatch):
    asked = app()
    report = answer(asked, plenty(path))
    assert answer(asked, plenty(path)) == report
    assert {place.name for place in path.parent.iterdir()} == {path.name}
    test_answers_given_at_the_same_time_do_not_overspend(path.with_name("another"))
    test_a_ledger_in_use_is_waited_for_and_then_said_to_be(path.with_name("third"), monkeypatch)


def made_meanwhile(path, monkeypatch):
    """A ledger that another process makes before the own one is put in its place."""
    given, connect = [], module._connect

    def slowly(address):
        if ".tmp" in address and not given:
            given.append(None)
            given.append(answer(app(), plenty(path)))
        return connect(address)

    monkeypatch.setattr(module, "_connect", slowly)
    assert answer(app(), plenty(path)) == given[1]
    assert plenty(path).spent() == 2
    assert {place.name for place in path.parent.iterdir()} == {path.name}


def refuse_links(monkeypatch, code=errno.EPERM):
    def refuse(source, target):
        raise OSError(code, os.strerror(code), str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.parametrize("code", [None, errno.EPERM, errno.EOPNOTSUPP, errno.EACCES, errno.ENOSYS])
def test_a_ledger_that_was_made_meanwhile_is_not_replaced(path, monkeypatch, code):
    """Nor where files have one name only, as the code says."""
    if code is not None:
        refuse_links(monkeypatch, code)
    made_meanwhile(path, monkeypatch)


def test_nor_is_it_on_windows(path, on_windows, monkeypatch):
    made_meanwhile(path, monkeypatch)


def test_a_ledger_without_links_has_its_mode_and_leaves_no_lock(path, monkeypatch):
    refuse_links(monkeypatch)
    former = os.umask(0)
    try:
        report = answer(app(), plenty(path))
    finally:
        os.umask(former)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert answer(app(), plenty(path)) == report
    assert {place.name for place in path.parent.iterdir()} == {path.name}


def test_where_links_and_renames_fail_nothing_leaves(path, monkeypatch):
    refuse_links(monkeypatch)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(StoreError, match="No space left on device"):
        answer(app(), plenty(path))
    assert not path.exists()


def full(source, target):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))


def test_a_hard_link_is_refused_before_anything_is_read(path):
    """A journal that a killed process left beside one name is not found by the other."""
    asked, other = app(), path.with_name("other")
    report = answer(asked, plenty(path))
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(StoreError, match="has another name, a hard link"):
            answer(asked, plenty(name))
    other.unlink()
    assert answer(asked, plenty(path)) == report


def test_a_process_that_is_killed_while_it_makes_a_ledger_leaves_no_second_name(path):
    report = answer(app(), plenty(path))
    left = path.with_name(f".{path.name}.0123456789abcdef.tmp")
    os.link(path, left)
    assert answer(app(), plenty(path)) == report
    assert not left.exists()


@pytest.mark.skipif("os.name != 'posix'", reason="modes are POSIX's")
def test_a_journal_is_as_closed_as_its_ledger(path):
    answer(app(), plenty(path))
    former = os.umask(0)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("UPDATE ledger SET latest = latest + 1")
            journal = path.with_name(f"{path.name}-journal")
            assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    finally:
        os.umask(former)


def test_a_file_system_without_modes_is_taken_for_a_file_of_ones_own(path, monkeypatch):
    report = answer(app(), plenty(path))
    path.chmod(0o755)

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "chmod", refuse)
    assert answer(app(), plenty(path)) == report
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(StoreError, match="Operation not permitted"):
        answer(app(), plenty(path))


@pytest.mark.skipif("os.name != 'posix'", reason="modes are POSIX's")
def test_a_ledger_that_others_can_read_is_closed_to_them(path):
    answer(app(), plenty(path))
    path.chmod(0o666)
    plenty(path).spent()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
