"""Noisy blocks of Fourier coefficients over known tables, as reports would give them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldpsql.algebra.workload import spectrum
from ldpsql.mechanisms.fourier.projection import Block


def range_spectrum(orders: Sequence[int], sizes: Sequence[int] | None = None) -> np.ndarray:
    """The workload of ranges on every axis."""
    workload = np.ones(())
    for order, size in zip(orders, sizes or orders, strict=True):
        workload = np.multiply.outer(workload, spectrum("range", size, order))
    return workload


def information_of(workload: np.ndarray, epsilon: float) -> np.ndarray:
    """lambda of a mechanism at the bound for translation-invariant ones."""
    root = np.sqrt(workload)
    root.flat[0] = 0.0
    e, size = math.exp(epsilon), workload.size
    k = np.arange(1, size)
    information = (
        root / root.sum() * (k * (size - k) * (e - 1) ** 2 / (k * e + size - k) ** 2).max()
    )
    information.flat[0] = 1.0
    return information


def noise_of(information: np.ndarray, people: float, random: np.random.Generator) -> np.ndarray:
    """Normal noise of variance people / lambda in every coefficient of a real table."""
    shape = information.shape
    noise = np.fft.fftn(random.standard_normal(shape)) / math.sqrt(information.size)
    noise *= np.sqrt(people / information)
    noise.flat[0] = 0.0
    return noise


def noisy_block(
    table: np.ndarray,
    epsilon: float,
    random: np.random.Generator,
    *,
    orders: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
) -> Block:
    """One block over a table of counts; orders beyond its shape are padding."""
    group = tuple(orders or table.shape)
    padded = np.zeros(group)
    padded[tuple(slice(0, size) for size in table.shape)] = table
    workload = range_spectrum(group, table.shape)
    information = information_of(workload, epsilon)
    spectrum_ = np.fft.fftn(padded) + noise_of(information, table.sum(), random)
    return Block(tuple(axes or range(table.ndim)), spectrum_, information, workload, table.shape)


def pair_blocks(
    table: np.ndarray, epsilon: float, random: np.random.Generator
) -> tuple[list[Block], list[np.ndarray]]:
    """The three pairs of a table of three axes, sharing their faces, and the true pair tables."""
    whole = noisy_block(table, epsilon, random)
    blocks, truth = [], []
    for left, right in ((0, 1), (0, 2), (1, 2)):
        (other,) = {0, 1, 2} - {left, right}
        pick = tuple(0 if axis == other else slice(None) for axis in range(3))
        sizes = (table.shape[left], table.shape[right])
        blocks.append(
            Block(
                (left, right),
                whole.spectrum[pick],
                whole.information[pick],
                range_spectrum(sizes),
                sizes,
            )
        )
        truth.append(table.sum(axis=other))
    return blocks, truth


def workload_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Mean squared error over the ranges of the workload."""
    return float((range_spectrum(truth.shape) * np.abs(np.fft.fftn(found - truth)) ** 2).sum())
