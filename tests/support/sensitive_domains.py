"""Record domains with sensitive values, and channels as matrices."""

from __future__ import annotations

import numpy as np

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.channel import enumerate_law
from ldpsql.reports.report import Rows
from ldpsql_device.epsilon import Epsilon


def sensitive_domain(sizes, sensitive):
    """A domain whose first codes are sensitive, as many as `sensitive` says."""
    codes = tuple(
        () if count == size else tuple(range(count))
        for count, size in zip(sensitive, sizes, strict=True)
    )
    names = tuple("xyzuv"[: len(sizes)])
    return RecordDomain(names, tuple(sizes), (), (), (), (), codes if any(codes) else ())


def made(name, sizes, sensitive, epsilon, **options):
    """A design over such a domain."""
    domain = sensitive_domain(sizes, sensitive)
    return mechanism(name).design(domain, Epsilon.parse(epsilon), options)


def matrix(design):
    """C[record, cell] in floats, from the exact channel of a design that reports cells."""
    law, outputs = enumerate_law(design.plan), named_by(design)
    found = np.zeros((len(law.inputs), design.channel.cells))
    for cell in np.flatnonzero(outputs >= 0):
        found[:, cell] = [float(row[outputs[cell]]) for row in law.probabilities]
    return found


def noise(channel, people, weights):
    """Variance of answers to queries (k, cells) about a fixed table of people, shape (k,)."""
    second = np.diagonal(channel.second(people, weights, weights))
    return second - (weights**2) @ people


def named_by(design):
    """Per cell the place among the outputs of the law of the report that names it, -1 for none."""
    answers = np.array(enumerate_law(design.plan).outputs, dtype=np.int64)[:, 1:]
    numbers = np.arange(len(answers)) + 1
    counted = design.channel.counts(Rows(tuple(answers.T), numbers), (None, None))
    return counted.astype(int) - 1


def names_strangers(design):
    """Whether a report names a value that is not sensitive and comes from a record without it.

    Definition 3 forbids it by its conditions 2 to 4 (docs/spec/uldp.md#1.2).
    """
    law, domain = enumerate_law(design.plan), design.domain
    for cell, output in enumerate(named_by(design)):
        named = np.unravel_index(cell, domain.sizes)
        others = [j for j, code in enumerate(named) if code not in domain.sensitive_codes(j)]
        for record, row in zip(law.inputs, law.probabilities, strict=True):
            if output >= 0 and row[output] and any(record[j] != named[j] for j in others):
                return True
    return False
