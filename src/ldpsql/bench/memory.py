"""Sees raw values and reports, for evaluation only. Histograms of reports without a database."""

from __future__ import annotations

import numpy as np

from ldpsql.report import Histogram, Integers, Reports, Rows

_WORD = 32


def histogram_of(reports: Reports) -> Histogram:
    """Counts of equal reports, or counts per bit for unary formats."""
    form = reports.format
    columns = [np.asarray(reports.columns[name]).astype(np.int64) for name in form.columns]
    selector = columns[0]

    def load(wanted: int) -> Rows:
        chosen = selector == wanted
        if form.unary:
            return _bits([column[chosen] for column in columns[1:]], int(chosen.sum()))
        rows = np.stack([column[chosen] for column in columns[1:]])
        distinct, counts = np.unique(rows, axis=1, return_counts=True)
        return Rows(tuple(distinct), counts.astype(np.int64))

    def load_all() -> Rows:
        if not form.unary:
            distinct, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
            return Rows(tuple(distinct), counts.astype(np.int64))
        parts = [load(wanted) for wanted in range(form.selectors)]
        owners = np.repeat(np.arange(form.selectors), [len(part.counts) for part in parts])
        bits = np.concatenate([part.columns[0] for part in parts])
        return Rows((owners, bits), np.concatenate([part.counts for part in parts]))

    return Histogram(np.bincount(selector, minlength=form.selectors), load, load_all)


def _bits(words: list[Integers], people: int) -> Rows:
    bits, counts = [-1], [people]
    for number, word in enumerate(words):
        for bit in range(_WORD):
            bits.append(_WORD * number + bit)
            counts.append(int((word >> bit & 1).sum()))
    return Rows((np.array(bits),), np.array(counts))
