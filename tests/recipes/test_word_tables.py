"""Channels in whole numbers: exact sums, exact odds, drawn as they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.significance import chi_square, chi_square_bound

from ldpsql.bench.entropy import SeededEntropy
from ldpsql.recipes.word_tables import ALL_WORDS, WordTable, make_staircase
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

ODDS = Epsilon.parse("1").odds
SINGLES = np.eye(4, dtype=bool)


def fitting(patterns: np.ndarray, odds: Fraction = ODDS) -> list[int]:
    """Equal weights for patterns that hold every cell equally often, rounded down."""
    often = int(patterns[:, 0].sum())
    shares = Fraction(ALL_WORDS) / (len(patterns) - often + often * odds)
    return [int(shares)] * len(patterns)


@pytest.mark.parametrize("short", [0, 1, 10**6])
def test_columns_use_every_word_and_rows_stay_within_the_odds(short):
    """However much rounding has left over."""
    weights = [weight - short for weight in fitting(SINGLES)]
    table = WordTable(make_staircase(weights, SINGLES, ODDS))
    assert all(sum(map(int, column)) == ALL_WORDS for column in table.words.T)
    assert ODDS * (1 - Fraction(1, 10**9)) < table.odds() <= ODDS
    for high, low in zip(table.words.max(axis=1), table.words.min(axis=1), strict=True):
        assert Fraction(int(high), int(low)) <= ODDS


def test_more_words_than_there_are_is_refused():
    with pytest.raises(SurveyError, match="more words"):
        make_staircase([weight + 10 for weight in fitting(SINGLES)], SINGLES, ODDS)


def test_words_that_no_report_may_take_are_refused():
    """Every report is raised as far as the odds allow, and words remain."""
    with pytest.raises(SurveyError, match="without a report"):
        make_staircase([weight // 3 for weight in fitting(SINGLES)], SINGLES, ODDS)


@pytest.mark.parametrize("weights", [[0, 1, 1, 1], [-1, 1, 1, 1], [ALL_WORDS] * 4])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(SurveyError, match="weights of the design"):
        make_staircase(weights, SINGLES, ODDS)


def test_a_table_that_loses_a_word_is_refused():
    words = make_staircase(fitting(SINGLES), SINGLES, ODDS)
    words[0, 0] -= np.uint64(1)
    with pytest.raises(SurveyError, match="probability 1"):
        WordTable(words)


@pytest.mark.parametrize("reports", [1, 2, 3, 5, 8, 9])
def test_the_search_finds_the_report_of_every_word(reports):
    """Boundaries included, and reports of no words never."""
    random = np.random.default_rng(reports)
    cuts = np.sort(random.integers(0, ALL_WORDS, (reports - 1, 3), dtype=np.uint64), axis=0)
    if reports > 4:
        cuts[1] = cuts[2]
    ends = np.concatenate([cuts, np.full((1, 3), ALL_WORDS, dtype=np.uint64)])
    starts = np.concatenate([np.zeros((1, 3), dtype=np.uint64), cuts])
    table = WordTable(ends - starts)
    for cell in range(3):
        edges = {0, ALL_WORDS - 1, *map(int, starts[:, cell]), *(int(e) - 1 for e in ends[:, cell])}
        words = np.array([e for e in sorted(edges) if 0 <= e < ALL_WORDS], dtype=np.uint64)
        found = table.draw(np.full(len(words), cell), words << np.uint64(1))
        inside = (starts[found, cell] <= words) & (words < ends[found, cell])
        assert inside.all()


def test_reports_come_as_often_as_the_words_say_and_a_shifted_table_is_caught():
    table = WordTable(make_staircase(fitting(SINGLES), SINGLES, ODDS))
    runs = 40_000
    drawn = table.draw(np.full(runs, 2), SeededEntropy(1).words(runs))
    observed = np.bincount(drawn, minlength=4)
    right, wrong = table.channel[:, 2] * runs, table.channel[:, 1] * runs
    for expected, fits in ((right, True), (wrong, False)):
        statistic, degrees = chi_square(observed, expected)
        assert (statistic < chi_square_bound(degrees)) == fits
