"""Naive Bayes from reports: the classifier, its tables by SQL, and its verdicts."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.figures import Measured, pages, uldp_bayes
from benchmarks.figures.nursery import ATTRIBUTES
from benchmarks.figures.uldp_bayes import GRADED, GRR, MECHANISMS, OUE, TRUE, ULDP
from benchmarks.figures.verdicts import Value, is_above
from benchmarks.uldp_tables import CLASS
from ldpsql.designer import design
from ldpsql_lab.simulation import simulate

PEOPLE = {"a": [[30.0, 10.0], [5.0, 15.0]], "b": [[4.0, 36.0], [12.0, 8.0]]}
"""By class and value."""


def test_the_classifier_is_bayes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes and two attributes, by hand."""
    monkeypatch.setattr(uldp_bayes, "CLASS", ("first", "second"))
    prior, parts = uldp_bayes.learn([np.array(table) for table in PEOPLE.values()])
    # One person more of every pair.
    assert np.exp(prior) == pytest.approx([84 / 128, 44 / 128])
    assert np.exp(parts[0]) == pytest.approx(np.array([[31 / 42, 11 / 42], [6 / 22, 16 / 22]]))
    codes = np.array([[0, 1], [1, 0], [1, 1]])
    for classes, share in (([0, 1, 0], 1.0), ([0, 1, 1], 2 / 3)):
        told = uldp_bayes.accuracy((prior, parts), codes, np.array(classes))
        assert told == pytest.approx(share)


def test_negative_counts_are_mended() -> None:
    """By the nearest table of as many people."""
    table = np.zeros((len(CLASS), 2))
    table[0], table[1, 0] = (-4.0, 10.0), 4.0
    _, (part,) = uldp_bayes.learn([table])
    assert np.exp(part[0]) == pytest.approx([1 / 10, 9 / 10])  # 0 and 8, and one more of each
    assert np.exp(part[1]) == pytest.approx([3 / 4, 1 / 4])


@pytest.mark.parametrize("mechanism", ["urr", "graded"])
def test_the_tables_are_what_sql_answers(mechanism: str) -> None:
    """The same reports, estimated by an analyst."""
    survey = design(uldp_bayes.survey_text("finance", mechanism, "2", 2))
    pairs, size = uldp_bayes.pairs_of("finance"), 4_000
    codes = np.random.default_rng(1).integers(0, len(pairs), size)
    people = pa.table({"pair": np.array(pairs)[codes]})
    with simulate(survey, people, seed=5) as connection:
        sql = "SELECT pair, COUNT(*) FROM nursery GROUP BY pair"
        found = dict(connection.execute(sql).fetchall())
        sql = "SELECT COUNT(*), STDERR(COUNT(*)) FROM nursery WHERE pair LIKE '%, priority'"
        value, error = connection.execute(sql).fetchone()
    truth = np.bincount(codes, minlength=len(pairs))
    own = uldp_bayes.estimate(survey.design, codes, 5)
    assert math.fsum(found.values()) == pytest.approx(own.sum()) == pytest.approx(size)
    place = CLASS.index("priority") * len(ATTRIBUTES["finance"])
    assert value == pytest.approx(found["inconv, priority"] + found["convenient, priority"])
    assert abs(value - truth[place : place + 2].sum()) < 5 * error
    assert abs(own[place : place + 2].sum() - truth[place : place + 2].sum()) < 5 * error


def test_a_run_asks_the_same_people_whatever_the_mechanism() -> None:
    """The split leaves the noise out; noise costs something."""
    split = uldp_bayes.one_run(3, uldp_bayes.SPLIT, "", 0)
    assert split == uldp_bayes.one_run(3, uldp_bayes.SPLIT, "1", 2)
    assert uldp_bayes.one_run(3, GRR, "0.5", 2) < split - 0.02
    assert uldp_bayes.one_run(3, TRUE, "", 0) > split - 0.02


def test_every_mechanism_can_be_designed() -> None:
    for name in MECHANISMS.values():
        made = uldp_bayes.designed("finance", name, "0.5", 4)
        assert made.name == name
        assert made.guarantee.kind == ("uldp" if name == "urr" else "local")


def test_the_page_says_what_was_measured() -> None:
    """With two sensitive classes, at epsilon 1 and 2."""
    text = " ".join((pages.DOCS / "beyond.md").read_text("utf-8").split())
    measured = Measured.of_columns(pages.read("uldp-naive-bayes")["columns"], "")

    def told(label: str, epsilon: float) -> str:
        (row,) = measured.where(mechanism=label, epsilon=epsilon, sensitive=2)
        return f"{100 * row['accuracy']:.0f}"

    own, grr, oue = ([told(label, e) for e in (1.0, 2.0)] for label in (ULDP, GRR, OUE))
    (true,) = measured.where(mechanism=TRUE)
    assert (
        f"classifies {own[0]} % of the people correctly at epsilon 1 and {own[1]} % at 2. With "
        f"plain LDP it is {grr[0]} and {grr[1]} % (GRR) and {oue[0]} and {oue[1]} % (OUE), and "
        f"with the true table {100 * true['accuracy']:.0f} %"
    ) in text
    for epsilon in (1.0, 2.0):
        (graded,) = measured.where(mechanism=GRADED, epsilon=epsilon, sensitive=2)
        (uldp,) = measured.where(mechanism=ULDP, epsilon=epsilon, sensitive=2)
        assert is_above(Value.of(uldp, "accuracy"), Value.of(graded, "accuracy")) is not True
