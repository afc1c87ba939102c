"""Later rounds that somebody else made, and rounds that are asked again.

A person answers one of the rounds of a survey, so a round that names somebody else's survey as its
first one could have a device refuse that survey; and a round that names a first one which was never
asked is not one of a chain that was answered. Neither is worth anything here: a chain is its
author's, and every round is charged.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from support.giving import PLENTY, yes_or_no
from support.later_rounds import next_survey
from support.surveys import ANYTHING, integer, survey_toml
from support.vectors import published_key

from ldpsql.designer import design
from ldpsql_device import ledger as ledger_module
from ldpsql_device.answer import respond
from ldpsql_device.errors import OperationalError
from ldpsql_device.ledger import Ledger
from ldpsql_device.policy import Policy
from ldpsql_device.signature import SigningKey
from ldpsql_device.survey import Survey, canonical, signed_text

RECORD = {"positive": True, "age": 3}
AUTHOR = published_key()


@pytest.fixture
def ledger(memory_folder):
    return Ledger(memory_folder / "ledger", **PLENTY)


def signed(data: dict[str, Any], key: SigningKey | None) -> Survey:
    if key is not None:
        data = {**data, "author": key.author}
        data["signature"] = key.sign(signed_text(data))
    return Survey.from_json(canonical(data))


def plain(number: int = 0) -> dict[str, Any]:
    """A survey of epsilon 1, one of many that differ in nothing but a hash."""
    return {**json.loads(yes_or_no("1").device_text), "collector": f"{number:064x}"}


def later(first: str, number: int, key: SigningKey | None) -> Survey:
    """A forged round that names a survey as the first one."""
    return signed({**plain(number), "previous": first, "first": first}, key)


def answered(survey: Survey, ledger: Ledger, policy: Policy = ANYTHING) -> bool:
    try:
        return bool(respond(survey, RECORD, policy=policy, ledger=ledger))
    except OperationalError:
        return False


def look_at_chains_alone(content, survey, period):
    """What a device must not be content with."""
    chain, own = ledger_module.chain_of(survey), survey.fingerprint
    if any(answer.chain == chain and answer.survey != own for answer in content.answers):
        raise OperationalError("another round was answered")


@pytest.fixture
def chains_without_authors(monkeypatch):
    """The control's device: a chain is what a survey says it is, and nobody has to sign."""
    monkeypatch.setattr(ledger_module, "chain_of", lambda own: own.first or own.fingerprint)
    monkeypatch.setattr(ledger_module, "_check_round", look_at_chains_alone)


@pytest.mark.parametrize("victim_signs", [False, True])
@pytest.mark.parametrize("attacker_signs", [False, True])
def test_a_forged_round_does_not_block_a_survey(ledger, attacker, victim_signs, attacker_signs):
    victim = signed(plain(), AUTHOR if victim_signs else None)
    forged = later(victim.fingerprint, 1, attacker if attacker_signs else None)
    assert answered(forged, ledger) == attacker_signs
    assert answered(victim, ledger)
    assert ledger.spent() == 1 + attacker_signs


def test_control_without_authors_a_forged_round_blocks_a_survey(
    ledger, attacker, chains_without_authors
):
    victim = signed(plain(), AUTHOR)
    assert answered(later(victim.fingerprint, 1, attacker), ledger)
    assert not answered(victim, ledger)


@pytest.mark.parametrize("victim_signs", [False, True])
def test_who_answered_a_survey_answers_no_round_of_it_by_another_author(
    ledger, attacker, victim_signs, monkeypatch
):
    victim = signed(plain(), AUTHOR if victim_signs else None)
    assert answered(victim, ledger)
    forged = later(victim.fingerprint, 1, attacker)
    assert not answered(forged, ledger)
    assert answered(victim, ledger)
    assert ledger.spent() == 1
    # The control: a device that looks at chains alone.
    monkeypatch.setattr(ledger_module, "_check_round", look_at_chains_alone)
    assert answered(forged, ledger)


def test_a_forged_round_is_charged_like_any_survey(memory_folder, attacker):
    """It draws on the budget of the attribute, and no further than that."""
    victim = signed(plain(), AUTHOR)
    budget = Ledger(memory_folder / "ledger", total=10, per_attribute=3)
    rounds = [later(victim.fingerprint, number, attacker) for number in range(1, 9)]
    assert [answered(forged, budget) for forged in rounds] == [True] + [False] * 7
    assert answered(victim, budget)
    invented = [later(f"{number:064x}", 100 + number, attacker) for number in range(8)]
    assert [answered(forged, budget) for forged in invented] == [True] + [False] * 7
    assert budget.spent() == 3


def test_control_without_a_budget_every_invented_chain_is_answered(ledger, attacker):
    invented = [later(f"{number:064x}", 100 + number, attacker) for number in range(8)]
    assert all(answered(forged, ledger) for forged in invented)
    assert ledger.spent() == 8


def test_who_pins_authors_answers_no_forged_round_and_loses_nothing(memory_folder, attacker):
    """Whoever an app answers can use up a budget, so this is what keeps it for its own surveys."""
    victim, budget = signed(plain(), AUTHOR), {"total": 1, "per_attribute": 1}
    forged = [later(victim.fingerprint, 1, key) for key in (None, attacker)]
    pinned = Policy(1, authors={AUTHOR.author})
    ledger = Ledger(memory_folder / "ledger", **budget)
    assert [answered(survey, ledger, pinned) for survey in (*forged, victim)] == [
        False,
        False,
        True,
    ]
    anybody = Ledger(memory_folder / "control", **budget)
    assert [answered(survey, anybody) for survey in (*forged, victim)] == [False, True, False]


def test_a_signature_of_the_first_round_does_not_sign_a_forged_one(ledger):
    victim = signed(plain(), AUTHOR)
    data = json.loads(later(victim.fingerprint, 1, None).device_text)
    stolen = {**data, "author": victim.author, "signature": victim.signature}
    with pytest.raises(Exception, match="somebody has changed the survey"):
        Survey.from_json(canonical(stolen))
    # A device that could not check it when it read the file does before it looks it up.
    unchecked = Survey(
        **{
            **vars(Survey.from_json(canonical(data))),
            "device_text": canonical(stolen),
            "author": victim.author,
            "signature": victim.signature,
        }
    )
    with pytest.raises(Exception, match="somebody has changed the survey"):
        respond(unchecked, RECORD, policy=ANYTHING, ledger=ledger)
    assert ledger.spent() == 0
    assert answered(victim, ledger)


def rounds_of_the_author() -> list[Survey]:
    staged = survey_toml(integer("age", 0, 7), mechanism="ahead", epsilon="3")
    rounds = [design(staged).sign(AUTHOR)]
    while len(rounds) < 3:
        rounds.append(next_survey(rounds[-1], key=AUTHOR))
    return [Survey.from_json(survey.device_text) for survey in rounds]


@pytest.mark.parametrize("start", [0, 1, 2])
def test_one_of_the_authors_rounds_is_answered(ledger, start):
    """Whichever comes first, and however often and in which order they are asked again."""
    rounds = rounds_of_the_author()
    own = rounds[start]
    first = respond(own, RECORD, policy=ANYTHING, ledger=ledger)
    for survey in (*rounds, *reversed(rounds)):
        if survey is own:
            assert respond(survey, RECORD, policy=ANYTHING, ledger=ledger) == first
        else:
            assert not answered(survey, ledger)
    assert ledger.spent() == Fraction(3)


def test_control_rounds_that_name_no_first_one_are_all_answered(ledger):
    """As if a device did not look at chains."""
    texts = [json.loads(survey.device_text) for survey in rounds_of_the_author()]
    hidden = ("previous", "first", "author", "signature")
    loose = [{k: v for k, v in text.items() if k not in hidden} for text in texts]
    assert all(answered(signed(text, AUTHOR), ledger) for text in loose)
    assert ledger.spent() == 9
