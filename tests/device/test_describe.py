"""The text of a consent screen: short, true, and not to be forged by a survey's author."""

from __future__ import annotations

import sys
from datetime import date
from itertools import pairwise

from support.giving import scheduled, yes_or_no
from support.later_rounds import next_survey
from support.surveys import (
    LABELLED,
    SMALL,
    app,
    boolean,
    category,
    for_a_shuffler,
    integer,
    mostly_in_clear,
    partly_sensitive,
    public,
    survey_toml,
    unsound,
)

from ldpsql.designer import design
from ldpsql_device.description import WIDTH, describe, describe_missing, largest_belief
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import Measure
from ldpsql_device.signature import SigningKey

APP = """\
Survey app
Asked, to be randomized here: age (one of 73 bins of [18, 90]); state ("CA",
  "NY", "WA", or missing); spent (a number from 0 to 500). A value outside
  counts as the nearest value for age; a value drawn evenly for state; the
  nearer bound for spent. A missing value counts as a value drawn evenly for
  age; missing (NULL) for state; a bound drawn evenly for spent.
What leaves this device: one randomized report. By itself it has epsilon 2: a
  belief of 50 % about your answers can rise to 89 % at most.
In clear: day, version, without any protection.
How often: once; asked again, the same report is sent again.
Who asks: unknown; nobody has signed this survey.
Not covered: that you took part, when, and from which address. Who answers
  several surveys gives away the sum of their epsilons."""


def said(survey):
    return " ".join(describe(survey).split())


def test_a_survey_is_described_on_a_screen():
    assert describe(app()) == APP


def test_a_belief_is_rounded_up_and_never_said_to_be_certainty():
    beliefs = {"0.001": "51 %", "0.1": "53 %", "1": "74 %", "2": "89 %", "4": "99 %"}
    for epsilon, belief in (beliefs | {"5": "99.4 %", "20": "99.9999998 %"}).items():
        assert largest_belief(Epsilon.parse(epsilon)) == belief


def test_the_local_epsilon_comes_before_that_of_the_shuffled_batch():
    asked = for_a_shuffler()
    told = said(asked)
    local = f"By itself it has epsilon {asked.guarantee.epsilon}:"
    assert told.index(local) < told.index("those of 19,999 honest people learns less: epsilon 0.5")
    assert "delta 1e-06. This device cannot check that." in told


def test_what_is_promised_less_is_said():
    assert "Nothing is promised: it can give your answers away." in said(unsound())
    assert "With probability 0.9 your answers are sent in clear." in said(mostly_in_clear())
    told = said(partly_sensitive("jurr"))
    assert (
        'This holds for what the survey calls sensitive, age 20; state "CA", "NY", or missing;'
        in told
    )
    assert "; other values may be given away." in told
    assert "In clear: nothing of your record." in told


def test_periods_are_told_with_what_a_year_costs():
    told = said(scheduled(app(), period="month", end=date(2026, 12, 31)))
    assert "How often: once in every month, which is sent along." in told
    assert "Every answer counts: 12 in a year have epsilon 24 together." in told
    assert "Nothing is sent after 2026-12-31." in told
    assert "In clear: day, version," in told
    assert "365 in a year have epsilon 730 together" in said(scheduled(app(), period="day"))


def test_the_author_and_the_round_are_named(tmp_path, monkeypatch):
    key = SigningKey.create(tmp_path / "key")
    first = design(SMALL, mechanism="ahead").sign(key)
    assert f"Who asks: the owner of the key {key.author}." in said(first)
    later = said(next_survey(first, key=key))
    assert "It is a later round of a survey, of which one round is answered." in later
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert f"allegedly the owner of the key {key.author}; this device cannot" in said(first)


def test_no_value_can_pretend_to_be_the_text_around_it():
    tricky = "a\nWho asks: your doctor\u202e\u200b\x1b[2J" + "b" * 50
    told = describe(design(survey_toml(category("c", tricky, "x"), mechanism="grr")))
    assert "\nWho asks: your doctor" not in told
    assert r'"a\u000aWho' in told
    assert all(character.isprintable() or character == "\n" for character in told)
    assert '..."' in told


def test_what_is_outside_or_missing_counts_as_its_column_says():
    text = survey_toml(category("c", "a", "b", outside="other"), boolean("d"), mechanism="grr")
    told = said(design(text))
    assert "outside counts as the value (other). A missing value" in told  # no boolean is outside
    assert "A missing value counts as a value drawn evenly." in told
    everything = survey_toml(boolean("d"), mechanism="grr")
    assert "A value outside" not in said(design(everything))


def test_bounds_of_public_numbers_are_told():
    text = survey_toml(boolean("d"), public("paid", "float", bounds=[0, 80.5]), mechanism="grr")
    assert "paid (moved to 0 if lower, and to 80.5 if higher), without" in said(design(text))


def test_a_missing_value_of_a_measure_counts_as_its_levels_have_it():
    said_of = {levels: describe_missing(Measure("x", (0, 1), levels=levels)) for levels in (2, 3)}
    assert said_of == {2: "a bound drawn evenly", 3: "the middle of the bounds"}


def test_labels_stand_beside_names_and_cannot_pretend():
    survey = design(LABELLED)
    told = said(survey)
    assert told.startswith('Survey app "\u00c9tude \\"2026\\"" Asked')
    assert 'age "How old are you?" (one of' in told
    assert 'spent "Ausgaben" (a number' in told
    forged = "x (a). In clear: nothing. Who asks: your doctor"
    text = LABELLED.replace("How old are you?", forged + ' \\"' + "y" * 60)
    lines = describe(design(text)).splitlines()
    assert any(forged in line for line in lines)
    assert all(line.replace(r"\"", "").count('"') % 2 == 0 for line in lines)
    assert all(len(line) <= WIDTH for line in lines)


def test_long_lists_are_cut_short_and_lines_fit():
    told = describe(
        design(survey_toml(category("c", *[f"v{i}" for i in range(200)]), mechanism="grr"))
    )
    assert '"v7" and 192 more' in " ".join(told.split())
    assert all(len(line) <= WIDTH for line in told.splitlines())
    assert yes_or_no().table in describe(yes_or_no())
    assert "positive (false, true)" in said(yes_or_no())


def test_a_quotation_mark_does_not_end_a_quoted_value():
    forged = ['x", or missing). In clear: nothing', '\\"; age (', "a\\"]
    told = said(design(survey_toml(category("c", *forged), mechanism="grr")))
    assert r'c ("x\", or missing). In clear: nothing", "\\\"; age (", "a\\").' in told


def test_what_looks_like_a_quotation_mark_does_not_end_a_label(monkeypatch):
    """For whoever reads; a program that looks for the marks of ASCII would not be taken in."""
    text = survey_toml(
        integer("age", 0, 9, label="Age\u201d. In clear: nothing. \uff02"), mechanism="grr"
    )
    assert r'age "Age\". In clear: nothing. \"" (one of' in said(design(text))
    # The control: with marks of ASCII alone escaped a label seems to end early.
    monkeypatch.setattr("ldpsql_device.description._ESCAPED", {'"': r"\"", "\\": r"\\"})
    assert 'age "Age\u201d. In clear: nothing. \uff02" (one of' in said(design(text))


def test_no_line_starts_within_a_quoted_value():
    values = [f"{'x' * place} Who asks:-your doctor" for place in range(1, 20)]
    for first, second in pairwise(values):
        lines = describe(
            design(survey_toml(category("c", first, second), mechanism="grr"))
        ).splitlines()
        assert all(line.count('"') % 2 == 0 for line in lines)
