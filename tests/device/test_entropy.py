"""The operating system's entropy."""

from __future__ import annotations

import os

import numpy as np
import pytest

from ldpsql_device.entropy import OsEntropy


def test_words_are_as_many_as_asked_and_none_comes_twice():
    entropy = OsEntropy()
    words = np.concatenate([entropy.words(10_000), entropy.words(0), entropy.words(10_000)])
    assert (words.shape, words.dtype) == ((20_000,), np.uint64)
    assert len(np.unique(words)) == 20_000


def test_every_bit_is_fair():
    """Each of 64 bits over 2^16 words: |count - 2^15| < 7 standard deviations of 2^7."""
    words = OsEntropy().words(1 << 16)
    for bit in range(64):
        ones = int(((words >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - (1 << 15)) < 7 * 128


def test_a_forked_process_draws_other_words():
    entropy = OsEntropy()
    entropy.words(3)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, entropy.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reading, 32), dtype=np.uint64)
    os.close(reading)
    os.close(writing)
    assert not set(theirs.tolist()) & set(entropy.words(4).tolist())


def test_words_cannot_be_replaced():
    entropy = OsEntropy()
    with pytest.raises(AttributeError):
        entropy.words = np.zeros
