"""Public. Sees parameters. Record domains to audit on: made up, and made smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

_CAPS = (8, 6, 5, 4, 3, 2)
LARGEST_RECORDS = 4096
LARGEST_DIMENSION, _DIGITS = 1 << 31, 10


def made_up(text: str, measures: int, sensitive: str | None = None) -> RecordDomain:
    """A domain from its sizes, "4x4", with measures between 0 and 1.

    sensitive: how many codes of each dimension, the first ones, are sensitive, "2x1"; all where
    None. SurveyError if a text is no product of whole numbers from 1, one is above 2^31, or they
    do not fit.
    """
    sizes = _product(text, "a domain is codes per dimension, like 4x4")
    held = sizes
    if sensitive is not None:
        held = _product(sensitive, "sensitive codes are a number per dimension, like 2x1")
    if len(held) != len(sizes) or any(a > b for a, b in zip(held, sizes, strict=True)):
        raise SurveyError(f"{sensitive} sensitive codes do not fit a domain of {text}")
    return RecordDomain(
        tuple(f"x{number}" for number in range(len(sizes))),
        sizes,
        tuple(f"m{number}" for number in range(measures)),
        ((0.0, 1.0),) * measures,
        (None,) * measures,
        (),
        _first(held, sizes),
    )


def _product(text: str, meaning: str) -> tuple[int, ...]:
    parts = text.lower().split("x")
    if not all(part.isascii() and part.isdigit() and part.strip("0") for part in parts):
        raise SurveyError(f"{meaning}, not {text!r}")
    if any(len(part.lstrip("0")) > _DIGITS or int(part) > LARGEST_DIMENSION for part in parts):
        raise SurveyError(f"a dimension has at most {LARGEST_DIMENSION} codes")
    return tuple(map(int, parts))


def _first(held: Sequence[int], sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The sensitive codes of each dimension where they are the first ones."""
    if tuple(held) == tuple(sizes):
        return ()
    return tuple(
        () if count == size else tuple(range(count))
        for count, size in zip(held, sizes, strict=True)
    )


def records(domain: RecordDomain) -> int:
    """Number of different private records, signs of the measures included."""
    return math.prod((*domain.sizes, *(2 for _ in domain.bounds)))


def smaller(domain: RecordDomain) -> Iterator[RecordDomain]:
    """Smaller domains, those that keep all dimensions and measures first.

    Each size is cut to a common cap; then dimensions, and then measures, are left out from the
    last on. A dimension with values that are not sensitive keeps one at least.
    """
    seen = {domain}
    for measures in range(len(domain.bounds), -1, -1):
        for dimensions in range(len(domain.sizes), -1, -1):
            for cap in _CAPS:
                cut = _cut(domain, dimensions, measures, cap)
                if (dimensions or measures) and records(cut) <= LARGEST_RECORDS and cut not in seen:
                    seen.add(cut)
                    yield cut


def _cut(domain: RecordDomain, dimensions: int, measures: int, cap: int) -> RecordDomain:
    sizes = tuple(min(size, cap) for size in domain.sizes[:dimensions])
    held = [
        min(len(domain.sensitive_codes(j)), size - (len(domain.sensitive_codes(j)) < before))
        for j, (size, before) in enumerate(zip(sizes, domain.sizes, strict=False))
    ]
    return RecordDomain(
        domain.names[:dimensions],
        sizes,
        domain.measure_names[:measures],
        domain.bounds[:measures],
        tuple(
            index if index is not None and index < dimensions else None
            for index in domain.measured[:measures]
        ),
        (),
        _first(held, sizes),
    )
