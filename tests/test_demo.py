"""The demo: a whole survey of made-up shoppers, with the truth beside each answer."""

from __future__ import annotations

import re

import pytest

from ldpsql import demo

PEOPLE = 20_000


@pytest.fixture(scope="module")
def session() -> tuple[int, list[str]]:
    """Intervals that missed, and the printed lines."""
    lines: list[str] = []
    return demo.run(lines.append, people=PEOPLE, seed=3), lines


def test_it_says_what_each_person_sends_and_is_promised(session: tuple[int, list[str]]) -> None:
    """Number of shoppers, mechanism, epsilon, size of a report; guarantee and its limits."""
    text = "\n".join(session[1])
    assert "20,000 shoppers; mechanism ehio, epsilon 2" in text
    assert re.search(r"one report of \d+\.\d bits: question, ", text)
    assert "promised to each person: 2-LDP" in text
    assert text.count("\n  not covered: ") >= 1


def test_every_question_is_asked_and_answered(session: tuple[int, list[str]]) -> None:
    """With its error and the truth; COUNT and AVG for each of the six states."""
    _, lines = session
    for name, sql in demo.QUESTIONS:
        assert f"\n{name}  {sql}" in lines
    answers = [line for line in lines if " truth " in line]
    assert len(answers) == 3 + 2 * len(demo.STATES)
    for state in demo.STATES:
        assert sum(line.startswith(f"   {state} ") for line in answers) == 2


def test_it_counts_the_intervals_that_missed(session: tuple[int, list[str]]) -> None:
    """The number returned is the number printed, and that of the lines that say so."""
    missed, lines = session
    assert isinstance(missed, int)
    assert missed == sum(line.endswith("  outside") for line in lines)
    assert any(re.match(rf"\n{missed} intervals? missed the truth", line) for line in lines)
    inside = sum(line.endswith("  inside") for line in lines)
    assert inside + missed == 3 + 2 * len(demo.STATES)


def test_the_truth_is_that_of_the_table(session: tuple[int, list[str]]) -> None:
    """Counted here without SQL."""
    ages = demo.shoppers(PEOPLE, 3)["age"].to_numpy()
    truth = int(((ages >= 26) & (ages <= 49)).sum())
    (line,) = [line for line in session[1] if line.startswith("   count(*) ")]
    assert f" truth {truth:>14,}" in line


def test_the_same_seed_tells_the_same_story(session: tuple[int, list[str]]) -> None:
    """Line by line; another seed another one."""
    again: list[str] = []
    assert demo.run(again.append, people=PEOPLE, seed=3) == session[0]
    assert again == session[1]
    other: list[str] = []
    demo.run(other.append, people=PEOPLE, seed=4)
    assert other != again


def test_shoppers_fit_the_survey() -> None:
    """Ages, salaries, states and purchases within what the survey declares."""
    table = demo.shoppers(2_000, 5)
    assert table.num_rows == 2_000
    assert 18 <= min(table["age"].to_pylist()) <= max(table["age"].to_pylist()) <= 81
    assert 0 <= min(table["salary"].to_pylist()) <= max(table["salary"].to_pylist()) <= 199_999
    assert set(table["state"].to_pylist()) == set(demo.STATES)
    assert 0 <= min(table["purchase"].to_pylist()) <= max(table["purchase"].to_pylist()) <= 500
    assert table.equals(demo.shoppers(2_000, 5))


def test_an_average_without_an_answer_is_said_so() -> None:
    """Few people: a NULL instead of a number, and no miss counted for it."""
    lines: list[str] = []
    missed = demo.run(lines.append, people=2_000)
    text = "\n".join(lines)
    assert "NULL: the reports are too few for an answer" in text
    assert text.count("outside") == missed
