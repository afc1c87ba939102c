"""Dealing a table's people to rounds."""

from __future__ import annotations

import numpy as np
import pytest
from support.significance import chi_square_bound
from support.surveys import boolean, survey_toml

from ldpsql.designer import design
from ldpsql.randomize.dealing import Deal
from ldpsql_device.errors import SurveyError


def rounds_of(key: str, rounds: int, rows: int, piece: int) -> np.ndarray:
    """By row the round that chooses it, read in pieces; each row is chosen once."""
    found = np.zeros(rows, dtype=np.int64)
    for number in range(1, rounds + 1):
        deal = Deal(key, number, rounds)
        parts = [deal.choose(s, min(piece, rows - s)) for s in range(0, rows, piece)]
        chosen = np.concatenate(parts)
        assert not found[chosen].any()
        found[chosen] = number
    return found


def test_everybody_is_in_one_round_however_the_table_is_read() -> None:
    """And rounds have equal numbers, but for the last block."""
    whole = rounds_of("a", 7, 1000, 1000)
    assert (whole > 0).all()
    assert (rounds_of("a", 7, 1000, 13) == whole).all()
    assert np.ptp(np.bincount(whole)[1:]) <= 1
    assert (rounds_of("b", 7, 1000, 1000) != whole).any()
    assert Deal("a", 1, 7).choose(50, 0).shape == (0,)


def test_places_in_a_block_are_even() -> None:
    """Whoever stands first in a block of three is in each round as often; rotation would not do."""
    rows = rounds_of("key", 3, 30_000, 30_000).reshape(-1, 3)
    orders = np.bincount(rows @ [9, 3, 1])
    orders = orders[orders > 0]
    expected = len(rows) / 6
    assert len(orders) == 6
    assert ((orders - expected) ** 2 / expected).sum() < chi_square_bound(5)


def test_a_survey_without_rounds_is_refused() -> None:
    """Everybody answers it."""
    with pytest.raises(SurveyError, match="asks everybody at once"):
        Deal.of(design(survey_toml(boolean("a"), mechanism="hio")))
