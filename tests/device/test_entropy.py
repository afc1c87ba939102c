"""The operating system's entropy, and the refusal of any other."""

from __future__ import annotations

import os

import numpy as np
import pytest

from ldpsql.simulation import SeededEntropy
from ldpsql_device.entropy import OsEntropy, require_os_entropy
from ldpsql_device.errors import InterfaceError


def test_words_have_the_asked_length_and_type():
    words = OsEntropy().words(1000)
    assert words.shape == (1000,)
    assert words.dtype == np.uint64
    assert words.flags.writeable
    assert OsEntropy().words(0).shape == (0,)


def test_no_word_comes_twice():
    entropy = OsEntropy()
    words = np.concatenate([entropy.words(10_000), entropy.words(10_000)])
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


class Loaded(OsEntropy):
    def words(self, count):
        return np.zeros(count, dtype=np.uint64)


@pytest.mark.parametrize("entropy", [SeededEntropy(0), Loaded()])
def test_any_other_entropy_is_refused(entropy):
    with pytest.raises(InterfaceError, match="a seed is for tests"):
        require_os_entropy(entropy)


def test_words_cannot_be_replaced():
    entropy = OsEntropy()
    with pytest.raises(AttributeError):
        entropy.words = Loaded().words
    assert require_os_entropy(entropy) is not entropy


def test_the_default_is_the_operating_system():
    assert type(require_os_entropy(None)) is OsEntropy
