"""What is known of the coefficients: which of them the workload leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.mechanisms.fourier.smoothing.block import Block
from ldpsql.mechanisms.fourier.smoothing.problem import Problem
from ldpsql.workload import spectrum


def problem(workload, information=None):
    shape = workload.shape
    known = np.ones(shape) if information is None else information
    block = Block(tuple(range(workload.ndim)), np.zeros(shape, complex), known, workload, shape)
    return Problem.of([block], 1000)


def ranges(*sizes):
    workload = np.ones(())
    for size in sizes:
        workload = np.multiply.outer(workload, spectrum("range", size, size))
    return workload


@pytest.mark.parametrize("sizes", [(16,), (64, 64), (125, 125), (48, 48, 48)])
def test_ranges_leave_no_frequency_out_whatever_the_number_of_people_weighs(sizes):
    workload = ranges(*sizes)
    assert not problem(workload).has_gaps
    workload.flat[0] = 0.0
    assert not problem(workload).has_gaps


def test_windows_of_half_the_codes_leave_frequencies_out():
    window = np.zeros(16)
    window[:8] = 1.0
    assert problem(np.abs(np.fft.fft(window)) ** 2).has_gaps


def test_what_is_not_observed_is_no_gap():
    workload = ranges(8, 8)
    workload[3, :] = workload[5, :] = 0.0
    assert problem(workload).has_gaps
    known = np.ones((8, 8))
    known[3, :] = known[5, :] = 0.0
    assert not problem(workload, known).has_gaps
