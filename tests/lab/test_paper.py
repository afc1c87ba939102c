"""The running example of H4MDA: its numbers, and the demonstration."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from support.command_line import run

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.audit.exact import worst_odds
from ldpsql.mechanisms.lgrr.recipe import LgrrDesign
from ldpsql.mechanisms.registry import mechanism
from ldpsql.randomize.columns import round_to_levels
from ldpsql.reports.channel import enumerate_law
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.demo import paper

ONE = Epsilon.parse("1")
PLANE = RecordDomain(("salary", "purchase"), (4, 4), ("purchase",), ((1.0, 4.0),), (1,))


def test_the_queries_have_the_papers_answers() -> None:
    """Q2 and Q3 are 4 and 4/3, so Q1 counts 3."""
    truths = [paper.truth_of(question.sql) for question in paper.QUESTIONS]
    assert truths == pytest.approx([3.0, 4.0, 4.0 / 3.0, 3.0])


def test_a_purchase_of_three_becomes_four_in_two_of_three() -> None:
    """Over words spread evenly; the mean of what it becomes is three."""
    (measure,) = paper.survey_of("hgrr").schema.measures
    words = np.arange(0, 2**64, 2**64 // 3_000, dtype=np.uint64)[:3_000]
    for bought, ups in ((1.0, 0), (2.0, 1_000), (3.0, 2_000), (4.0, 3_000)):
        levels = round_to_levels(measure, np.full(3_000, bought), words)
        assert levels.sum() == pytest.approx(ups, abs=1)


def test_a_node_among_four_is_named_by_e_over_e_plus_three() -> None:
    """By the exact law of what devices compare; odds are those of the plan's integers."""
    domain = RecordDomain(("age", "salary"), (4, 4), (), (), ())
    design = mechanism("hgrr").design(domain, ONE, {"fanout": 2})
    law, odds = enumerate_law(design.plan), ONE.odds
    question = design.answers[design.table.index[(1, 1), None, 0]].question
    chance = Fraction(1, len(design.table.groups))
    for record, channel in zip(law.inputs, law.probabilities, strict=True):
        own = record[0] // 2 * 2 + record[1] // 2
        for report, probability in zip(law.outputs, channel, strict=True):
            if report[0] == question:
                expected = (odds if report[1] == own else 1) / (odds + 3)
                assert float(probability / chance) == pytest.approx(float(expected), abs=1e-12)
    assert float(odds / (odds + 3)) == pytest.approx(np.e / (np.e + 3), abs=1e-9)
    assert worst_odds(design) <= odds


def test_combinations_of_levels_and_paths() -> None:
    """Twelve with 105 nodes, of which HGRR asks all but the roots; LGRR's path has six nodes."""
    hgrr = mechanism("hgrr").design(PLANE, ONE, {"fanout": 2})
    assert (len(hgrr.table.groups), sum(hgrr.table.sizes)) == (11, 104)
    lgrr, fakes = (mechanism(n).design(PLANE, ONE, {"fanout": 2}) for n in ("lgrr", "lgrr-fd"))
    assert isinstance(lgrr, LgrrDesign)
    assert lgrr.answers[0].path == 6
    assert (fakes.answers[0].path, fakes.answers[0].nodes) == (12, 105)


@pytest.mark.slow
def test_the_demonstration() -> None:
    """Trees, probabilities, all queries by all mechanisms; the sound intervals mostly hold."""
    shown = run("demo", "--paper", "--people", 8_000)
    assert shown.exit_code == 0
    text = shown.stdout
    assert "tree of age     1..4  |  1..2 3..4  |  1 2 3 4\n" in text
    assert "age in 2..4     3..4 and 2\n" in text
    assert "salary in 1..3  1..2 and 3\n" in text
    assert "e/(e + 3) = 0.4754, each other one with 1/(e + 3) = 0.1749" in text
    assert "a purchase of 3 becomes 4 with probability 2/3, else 1" in text
    for question in paper.QUESTIONS:
        assert f"{question.name}  {question.sql}\n" in text
    row = re.compile(r"^    (\D+?) {2,}(\S+)(?: ± (\S+))?", re.MULTILINE)
    inside = []
    for part in re.split(r"^Q\d ", text, flags=re.MULTILINE)[1:]:
        (_, everybody), *answers = [(name, found) for name, *found in row.findall(part)][1:]
        truth = number(everybody[0])
        assert len(answers) == len(paper.MECHANISMS)
        for name, (value, half) in answers:
            assert not (name.endswith("published") and half)
            if half:
                inside.append(abs(number(value) - truth) <= number(half))
    assert len(inside) >= 20
    assert sum(inside) >= len(inside) - 5  # of 23 at 95 %, for a fixed seed


def number(text: str) -> float:
    """A number with separators of thousands."""
    return float(text.replace(",", ""))
