"""Record domains with sensitive values, and channels as matrices."""

from __future__ import annotations

import numpy as np

from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain


def spared(sizes, held):
    """A domain whose first codes are sensitive, as many as `held` says."""
    sensitive = tuple(
        () if count == size else tuple(range(count))
        for count, size in zip(held, sizes, strict=True)
    )
    names = tuple("xyzuv"[: len(sizes)])
    return RecordDomain(names, tuple(sizes), (), (), (), (), sensitive if any(sensitive) else ())


def made(name, sizes, held, epsilon, **options):
    """A design over such a domain."""
    return mechanism(name).design(spared(sizes, held), Epsilon.parse(epsilon), options)


def matrix(design):
    """C[record, cell] in floats, from the exact channel of a design that reports cells."""
    law = design.law()
    found = np.zeros((len(law.inputs), design.channel.cells))
    for column, (_, cell) in enumerate(law.outputs):
        found[:, cell] = [float(row[column]) for row in law.probabilities]
    return found
