"""Measures that may be missing: AVG, SUM and COUNT(column) leave NULL out, and intervals cover."""

from __future__ import annotations

import pytest
from support.significance import coverage_fits, is_unbiased

from benchmarks.missing import MECHANISMS, MISSING, Answers, ask, people, survey
from ldpsql_lab.simulation import simulate

RUNS, EACH = 300, 1_500


def is_honest(found: Answers) -> bool:
    """Whether estimates are unbiased, a ratio but for what its count's spread makes of it, and
    intervals hold the truth as often as they say."""
    assert len(found.errors) == len(found.values)
    return is_unbiased(found.errors, 0.0) and coverage_fits(
        int(found.inside.sum()), len(found.inside)
    )


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("share", "at_random"), MISSING)
@pytest.mark.slow
def test_missing_values_are_left_out_without_bias(name: str, share: float, at_random: bool) -> None:
    table = people(share, at_random=at_random, runs=RUNS, each=EACH)
    found = ask(survey("4", name, dimensions=1), table)
    assert len(found) == 6
    assert all(map(is_honest, found.values()))


def test_an_average_that_counts_missing_values_in_is_caught() -> None:
    """The negative control: the middle of the bounds in place of NULL, as devices of old surveys
    have it, and everybody counted."""
    table = people(0.16, runs=RUNS, each=EACH)
    found = ask(survey("4", "fourier", required="required = true\nmissing_as = 50"), table)
    assert not any(map(is_honest, found.values()))


def test_a_required_measure_counts_a_missing_value_as_it_says() -> None:
    table = people(0.16, runs=RUNS, each=EACH)
    for stated, amount in (("", 0.0), ("missing_as = 20", 20.0)):
        filled = table.set_column(2, "income", table["income"].fill_null(amount))
        asked = survey("4", "fourier", required=f"required = true\n{stated}")
        found = ask(asked, table)
        truths = ask(asked, filled)
        assert all(
            is_honest(Answers(truths[text].truths, own.values, own.low, own.high))
            for text, own in found.items()
            if not text.startswith("COUNT")
        )
        assert found["COUNT(income)"].values.tolist() == [EACH] * RUNS
        with simulate(asked, table) as connection:
            notes = connection.execute("SELECT AVG(income) FROM people").result.notes
        assert any(f"A missing one counts as {amount:g} (required = true)" in n for n in notes)
