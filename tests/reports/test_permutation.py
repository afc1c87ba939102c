"""Every order is equally likely, also of more rows than fit into memory."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from support.significance import chi_square, chi_square_bound
from support.tiers import runs

from ldpsql.reports import permutation
from ldpsql.reports.permutation import permute_rows, random_order
from ldpsql_lab.simulation import SeededEntropy


def rows(count: int) -> pa.Table:
    texts = pa.array([None if i % 5 == 0 else "text" * (i % 3) for i in range(count)], pa.string())
    return pa.table({"a": pa.array(range(count), pa.uint16()), "b": texts})


def in_parts(table: pa.Table, size: int):
    return (table.slice(start, size) for start in range(0, table.num_rows, size))


def shuffled(count: int, folder, entropy, part: int = 50) -> pa.Table:
    return pa.concat_tables(permute_rows(in_parts(rows(count), part), folder, entropy))


def places(table: pa.Table) -> np.ndarray:
    return table["a"].to_numpy()


@pytest.mark.parametrize("count", [1, 2, 3, 100, 3000])
def test_the_same_rows_come_out(tmp_path, monkeypatch, count):
    monkeypatch.setattr(permutation, "CAPACITY", 2)
    found = shuffled(count, tmp_path, SeededEntropy(1))
    assert found.sort_by("a").equals(rows(count))
    assert not list(tmp_path.iterdir())


def test_nothing_in_nothing_out(tmp_path):
    assert list(permute_rows([], tmp_path, SeededEntropy(1))) == []
    assert list(permute_rows([rows(0)] * 3, tmp_path, SeededEntropy(1))) == []


def orders(draw, times: int, size: int) -> tuple[float, int]:
    """Chi-square statistic of how often each order of `size` rows came, and its degrees."""
    seen = Counter(tuple(draw()) for _ in range(times))
    everything = list(itertools.permutations(range(size)))
    observed = np.array([seen[order] for order in everything])
    assert observed.sum() == times
    return chi_square(observed, np.full(len(everything), times / len(everything)))


@pytest.mark.fast(1)
@pytest.mark.parametrize(("capacity", "buckets"), [(1, 2), (1, 4), (100, 1)])
def test_all_orders_are_equally_likely(tmp_path, monkeypatch, capacity, buckets):
    """With a bucket per row or two, and with all in memory; four rows in two parts."""
    monkeypatch.setattr(permutation, "CAPACITY", capacity)
    monkeypatch.setattr(permutation, "BUCKETS", buckets)
    entropy = SeededEntropy(7)

    def draw():
        return places(shuffled(4, tmp_path, entropy, part=3)).tolist()

    statistic, degrees = orders(draw, 24 * runs(50), 4)
    assert degrees == math.factorial(4) - 1
    assert statistic < chi_square_bound(degrees)


def test_buckets_alone_would_be_seen(tmp_path, monkeypatch):
    """Negative control: without the second pass rows keep their order within a bucket."""
    monkeypatch.setattr(permutation, "CAPACITY", 1)
    monkeypatch.setattr(permutation, "BUCKETS", 2)
    monkeypatch.setattr(permutation, "in_random_order", lambda rows, entropy: rows)
    entropy = SeededEntropy(7)

    def draw():
        return places(shuffled(4, tmp_path, entropy, part=3)).tolist()

    statistic, degrees = orders(draw, 24 * runs(50), 4)
    assert statistic > chi_square_bound(degrees)


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
    (found,) = permute_rows([rows(5)], tmp_path, entropy)
    assert places(found).tolist() == [4, 3, 2, 1, 0]
    assert entropy.asked == 3


@pytest.mark.parametrize("capacity", [1, 100])
@pytest.mark.parametrize("count", [3, 10, 25, 99])
def test_pieces_of_one_size(tmp_path, monkeypatch, capacity, count):
    monkeypatch.setattr(permutation, "CAPACITY", capacity)
    monkeypatch.setattr(permutation, "ROW_GROUP", 10)
    found = list(permute_rows(in_parts(rows(count), 7), tmp_path, SeededEntropy(1)))
    sizes = [piece.num_rows for piece in found]
    assert sizes == [10] * (count // 10) + [count % 10] * (count % 10 > 0)
    assert pa.concat_tables(found).sort_by("a").equals(rows(count))


def test_keys_that_differ_in_their_lowest_bits_alone_are_sorted_by_them():
    given = np.random.default_rng(5).permutation(1000).astype(np.uint64)

    class Given:
        def words(self, count):
            return given

    order, keys = random_order(1000, Given())
    assert keys.tolist() == list(range(1000))
    assert given[order].tolist() == keys.tolist()
