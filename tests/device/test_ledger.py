"""What a device has answered: remembered, bounded, and never read wrongly."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext

import pytest
from support.later_rounds import next_survey
from support.surveys import ANYTHING, RECORD, SMALL, TOML, app, unsound

from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import OperationalError, RecordError, StoreError
from ldpsql_device.ledger import Ledger, compose
from ldpsql_device.respond import respond


def survey(epsilon: str, table: str = "app") -> Survey:
    text = TOML.replace('table = "app"', f'table = "{table}"')
    return design(text, epsilon=epsilon)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


def test_a_second_answer_is_the_first_one_again(path):
    ledger, asked = Ledger(path), app()
    first = respond(asked, RECORD, ledger=ledger, policy=ANYTHING)
    other = {**RECORD, "age": 80, "version": "9"}
    assert all(
        respond(asked, other, ledger=Ledger(path), policy=ANYTHING) == first for _ in range(20)
    )
    assert ledger.spent() == Decimal(2)


def test_the_budget_is_exact(path):
    """0.1 + 0.2 is 0.3, no more, and 0.001 above is too much."""
    ledger = Ledger(path, Epsilon.parse("0.3"))
    respond(survey("0.1", "a"), RECORD, ledger=ledger, policy=ANYTHING)
    respond(survey("0.2", "b"), RECORD, ledger=ledger, policy=ANYTHING)
    assert ledger.spent() == Decimal("0.3")
    with pytest.raises(OperationalError, match=r"0\.3 of the budget of 0\.3 is spent"):
        respond(survey("0.001", "c"), RECORD, ledger=ledger, policy=ANYTHING)
    respond(survey("0.1", "a"), RECORD, ledger=ledger, policy=ANYTHING)


def test_a_refused_survey_costs_nothing(path):
    ledger = Ledger(path, Epsilon.parse("1"))
    with pytest.raises(OperationalError):
        respond(survey("1.5"), RECORD, ledger=ledger, policy=ANYTHING)
    with pytest.raises(RecordError):
        respond(survey("1"), {**RECORD, "age": 3}, ledger=ledger, policy=ANYTHING)
    assert ledger.spent() == 0


def test_only_the_owner_can_read_it_and_no_record_is_in_it(path):
    respond(app(), {**RECORD, "spent": 123.4567}, ledger=Ledger(path), policy=ANYTHING)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "123.4567" not in path.read_text()
    assert sorted(p.name for p in path.parent.iterdir()) == [".ledger.json.lock", "ledger.json"]


def damaged(text: str) -> list[str]:
    entries = json.loads(text)
    entries["entries"] = {}
    cheaper = text.replace('"epsilon": "2"', '"epsilon": "1"')
    assert cheaper != text
    return ["", text[:-20], "[]", "{}", "null", json.dumps(entries), cheaper, "\udcff"]


@pytest.mark.parametrize("case", range(8))
def test_a_damaged_ledger_answers_nothing(path, case):
    respond(app(), RECORD, ledger=Ledger(path), policy=ANYTHING)
    content = damaged(path.read_text())[case]
    path.write_text(content, errors="surrogateescape")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="cannot be read"):
        respond(app(), RECORD, ledger=Ledger(path), policy=ANYTHING)
    assert path.read_bytes() == before


def test_a_ledger_that_cannot_be_written_lets_nothing_leave(tmp_path):
    with pytest.raises(StoreError):
        respond(app(), RECORD, ledger=Ledger(tmp_path / "nowhere" / "ledger.json"), policy=ANYTHING)


def test_a_failed_write_leaves_the_ledger_as_it_was(path, monkeypatch):
    respond(survey("1", "a"), RECORD, ledger=Ledger(path), policy=ANYTHING)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ldpsql_device.atomic.os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        respond(survey("1", "b"), RECORD, ledger=Ledger(path), policy=ANYTHING)
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.tmp*")) + list(path.parent.glob(".*.tmp"))


def test_answers_given_at_the_same_time_do_not_overspend(path):
    budget = Epsilon.parse("1")
    surveys = [survey("0.3", f"t{i}") for i in range(8)]

    def attempt(asked):
        try:
            respond(asked, RECORD, ledger=Ledger(path, budget), policy=ANYTHING)
        except OperationalError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, surveys)) == 3
    assert Ledger(path).spent() == Decimal("0.9")


def test_a_survey_without_a_guarantee_has_no_bounded_cost(path):
    """It is booked as such, and no budget covers what comes after it."""
    respond(unsound(), RECORD, ledger=Ledger(path), policy=ANYTHING)
    (entry,) = json.loads(path.read_text())["entries"].values()
    assert entry["epsilon"] is None
    assert Ledger(path).spent() == Decimal("Infinity")
    limited = Ledger(path, Epsilon.parse("20"))
    with pytest.raises(OperationalError, match="promises no privacy, so no budget is left"):
        respond(survey("0.1"), RECORD, ledger=limited, policy=ANYTHING)
    respond(survey("0.1"), RECORD, ledger=Ledger(path), policy=ANYTHING)
    assert Ledger(path).spent() == Decimal("Infinity")


def test_no_budget_covers_a_survey_without_a_guarantee(path):
    limited = Ledger(path, Epsilon.parse("20"))
    respond(survey("0.1"), RECORD, ledger=limited, policy=ANYTHING)
    with pytest.raises(OperationalError, match="promises no privacy, which no budget can cover"):
        respond(unsound(), RECORD, ledger=limited, policy=ANYTHING)
    assert limited.spent() == Decimal("0.1")


def test_a_device_answers_one_round(path):
    """Whichever comes first, and the same round again as often as it is asked."""
    first = design(SMALL, mechanism="ahead")
    second = next_survey(first)
    third = next_survey(second)
    ledger = Ledger(path)
    report = respond(second, RECORD, ledger=ledger, policy=ANYTHING)
    for other in (first, third):
        with pytest.raises(OperationalError, match="answered another round of survey small"):
            respond(other, RECORD, ledger=ledger, policy=ANYTHING)
    assert respond(second, RECORD, ledger=Ledger(path), policy=ANYTHING) == report
    assert ledger.spent() == 1
    respond(design(SMALL), RECORD, ledger=ledger, policy=ANYTHING)
    respond(design(SMALL, mechanism="ahead", epsilon="2"), RECORD, ledger=ledger, policy=ANYTHING)
    assert ledger.spent() == 4


def test_a_device_that_answered_the_first_round_answers_no_other(path):
    first = design(SMALL, mechanism="ahead")
    respond(first, RECORD, ledger=Ledger(path), policy=ANYTHING)
    with pytest.raises(OperationalError, match="answered another round"):
        respond(next_survey(next_survey(first)), RECORD, ledger=Ledger(path), policy=ANYTHING)


def test_a_survey_of_shuffled_reports_spends_its_local_epsilon(path):
    """No device can know whether the shuffler kept apart from the collector."""
    asked = design(
        '[survey]\ntable = "app"\nepsilon = "0.5"\nmechanism = "grr"\ntrust = "shuffle"\n'
        'delta = "1e-6"\nusers = 20000\n[dimension.member]\ntype = "bool"\n'
    )
    local = asked.design.epsilon
    assert local.value > Decimal("0.5")
    short = Ledger(path, budget=Epsilon(local.value - Decimal("0.001")))
    with pytest.raises(OperationalError, match=f"asks for epsilon {local}"):
        respond(asked, {"member": True}, ledger=short, policy=ANYTHING)
    ledger = Ledger(path, budget=local)
    respond(asked, {"member": True}, ledger=ledger, policy=ANYTHING)
    assert ledger.spent() == local.value


def test_budgets_add_up_exactly() -> None:
    """0.1 + 0.2 is 0.3, which floats would miss; ten times 0.1 is 1; nothing is 0."""
    tenth = Epsilon.parse("0.1")
    assert compose([tenth, Epsilon.parse("0.2")]) == Decimal("0.3")
    assert compose([tenth] * 10) == Decimal(1)
    assert compose([]) == 0
    assert compose(iter([Epsilon.parse("1"), Epsilon.parse("20")])) == Decimal(21)


def test_decimals_are_exact_in_any_context() -> None:
    """An application's own decimal settings change neither sums nor fingerprints."""
    budgets = [Epsilon.parse("0.1"), Epsilon.parse("0.2"), Epsilon.parse("1.2345")]
    with localcontext() as context:
        context.prec = 3
        assert compose(budgets) == Decimal("1.5345")
        assert str(budgets[2]) == "1.2345"
