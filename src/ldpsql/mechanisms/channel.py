"""Runs on the device. Sees raw values. From one record to many reports and exact laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from ldpsql.mechanisms.base import Codes, Entropy, Law, Outcome
from ldpsql.report import ReportFormat, Reports
from ldpsql_device.schema import RecordDomain

LARGEST_LAW = 4_000_000
_BLOCK = 1 << 16


def in_blocks(
    form: ReportFormat,
    codes: Codes,
    entropy: Entropy,
    draw: Callable[[Codes, Entropy], Sequence[Codes]],
) -> Reports:
    """Reports of many people, drawn block by block, so that memory is that of the reports.

    draw: the report columns of the people in one block.
    """
    blocks = [
        draw(codes[start : start + _BLOCK], entropy)
        for start in range(0, max(len(codes), 1), _BLOCK)
    ]
    columns = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    return Reports.pack(form, columns)


def enumerate_law(
    domain: RecordDomain, outputs: int, law_of: Callable[[Outcome], Mapping[Outcome, Fraction]]
) -> Law:
    """The exact channel over all codes and signs.

    outputs: how many different reports there are.  law_of: the law of one record's report.
    ValueError where they are too many to enumerate.
    """
    sizes = (*domain.sizes, *(2 for _ in domain.bounds))
    inputs = tuple(product(*(range(size) for size in sizes)))
    if len(inputs) * outputs > LARGEST_LAW:
        raise ValueError(f"{len(inputs)} x {outputs} probabilities are too many to enumerate")
    channel = [law_of(record) for record in inputs]
    rows = tuple(sorted(set().union(*channel)))
    nothing = Fraction(0)
    return Law(inputs, rows, tuple(tuple(law.get(row, nothing) for row in rows) for law in channel))
