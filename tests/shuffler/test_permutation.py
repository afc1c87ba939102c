"""Every order is equally likely, also of more rows than fit into memory."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from support.significance import chi_square, chi_square_bound

from ldpsql import shuffler
from ldpsql.shuffler import permuted, regrouped
from ldpsql.simulation import SeededEntropy

KIND = np.dtype([("a", "<u2"), ("b", "u1")])


def rows(count: int) -> np.ndarray:
    made = np.zeros(count, dtype=KIND)
    made["a"], made["b"] = np.arange(count), np.arange(count) % 7
    return made


def in_parts(table: np.ndarray, size: int):
    return (table[start : start + size] for start in range(0, len(table), size))


def shuffled(count: int, folder, entropy, part: int = 50) -> np.ndarray:
    return np.concatenate(list(permuted(in_parts(rows(count), part), count, folder, entropy)))


@pytest.fixture
def small(monkeypatch):
    """Buckets of two rows."""
    monkeypatch.setattr(shuffler, "CAPACITY", 2)


@pytest.mark.parametrize("count", [1, 2, 3, 100, 3000])
def test_the_same_rows_come_out(tmp_path, small, count):
    found = shuffled(count, tmp_path, SeededEntropy(1))
    assert np.array_equal(np.sort(found, order="a"), rows(count))
    assert not list(tmp_path.iterdir())


def test_nothing_in_nothing_out(tmp_path):
    assert list(permuted([], 0, tmp_path, SeededEntropy(1))) == []


def orders(draw, times: int, size: int) -> tuple[float, int]:
    """Chi-square statistic of how often each order of `size` rows came, and its degrees."""
    seen = Counter(tuple(draw()) for _ in range(times))
    everything = list(itertools.permutations(range(size)))
    observed = np.array([seen[order] for order in everything])
    assert observed.sum() == times
    return chi_square(observed, np.full(len(everything), times / len(everything)))


@pytest.mark.parametrize("capacity", [1, 2, 100])
def test_all_orders_are_equally_likely(tmp_path, monkeypatch, capacity):
    """With a bucket per row or two, and with all in memory; four rows in two parts."""
    monkeypatch.setattr(shuffler, "CAPACITY", capacity)
    entropy = SeededEntropy(7)

    def draw():
        return shuffled(4, tmp_path, entropy, part=3)["a"].tolist()

    statistic, degrees = orders(draw, 24 * 50, 4)
    assert degrees == math.factorial(4) - 1
    assert statistic < chi_square_bound(degrees)


def test_buckets_alone_would_be_seen(tmp_path, monkeypatch):
    """Negative control: without the second pass rows keep their order within a bucket."""
    monkeypatch.setattr(shuffler, "CAPACITY", 2)
    monkeypatch.setattr(shuffler, "in_random_order", lambda rows, entropy: rows)
    entropy = SeededEntropy(7)

    def draw():
        return shuffled(4, tmp_path, entropy, part=3)["a"].tolist()

    statistic, degrees = orders(draw, 24 * 50, 4)
    assert statistic > chi_square_bound(degrees)


def test_neighbours_are_as_far_apart_as_chance_has_it(tmp_path, monkeypatch):
    """The rank correlation of place before and after, over many rows and many buckets."""
    monkeypatch.setattr(shuffler, "CAPACITY", 64)
    count = 20_000
    after = shuffled(count, tmp_path, SeededEntropy(3), part=999)["a"].astype(float)
    before = np.arange(count, dtype=float)
    assert abs(np.corrcoef(before, after)[0, 1]) < 5 / math.sqrt(count)
    assert abs(np.corrcoef(after[:-1], after[1:])[0, 1]) < 5 / math.sqrt(count)


def test_equal_keys_are_drawn_again(tmp_path):
    class Stuck:
        """Equal words at first."""

        asked = 0

        def words(self, count):
            self.asked += 1
            if self.asked < 3:
                return np.zeros(count, dtype=np.uint64)
            return np.arange(count, 0, -1, dtype=np.uint64)

    entropy = Stuck()
    (found,) = permuted([rows(5)], 5, tmp_path, entropy)
    assert found["a"].tolist() == [4, 3, 2, 1, 0]
    assert entropy.asked == 3


@pytest.mark.parametrize("sizes", [[], [3], [1] * 11, [25], [9, 1, 10, 4], [10, 10]])
def test_pieces_of_one_size(sizes):
    table = rows(sum(sizes))
    starts = np.cumsum([0, *sizes])
    pieces = [table[a:b] for a, b in itertools.pairwise(starts)]
    found = list(regrouped(pieces, 10))
    assert [len(piece) for piece in found[:-1]] == [10] * (len(found) - 1)
    assert all(0 < len(piece) <= 10 for piece in found)
    assert sum(map(len, found)) == len(table)
    if found:
        assert np.array_equal(np.concatenate(found), table)
