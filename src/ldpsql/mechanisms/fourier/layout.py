"""Public. Sees parameters. The group that a record domain is embedded in.

Very large axes are made coarse; axes whose sizes would give characters of huge order are padded to
a near size of small primes. Specification: fourier, sections 6.1 and 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from math import ceil, lcm

from ldpsql.boxes import CodeSet
from ldpsql.mechanisms.fourier.group import Axes, Group
from ldpsql.workload import Workload
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

LARGEST_ORDER = 1024
MOST_ALONE = 1 << 13
MOST_PADDING = 0.12
WIDENED = 1.25


def group_of(
    domain: RecordDomain, workload: Workload, most_bins: int, widened: frozenset[int] = frozenset()
) -> Group:
    """One axis per dimension and per measure; blocks from the workload's largest queries.

    most_bins: a dimension of more codes gets about so many bins of equal width; codes without
    neighbours keep bins of their own. SurveyError where those are too many.
    widened: dimensions whose circles are to be larger than they need (`one_sided`).
    """
    alone = tuple(domain.without_neighbours(axis) for axis in range(len(domain.sizes)))
    for name, count in zip(domain.names, alone, strict=True):
        if count > MOST_ALONE:
            raise SurveyError(
                f"{name} has {count} values without an order, more than {MOST_ALONE} that fourier "
                "collects one by one; use olh, or fewer values"
            )
    bins = tuple(map(_bins, domain.sizes, alone, repeat(most_bins)))
    signs = range(len(bins), len(bins) + len(domain.bounds))
    largest = workload.supports or ((),)
    blocks = tuple(
        block
        for support in largest
        for block in ([(*support, sign) for sign in signs] or [support])
        if block
    )
    if not blocks:
        # A single code cannot be asked about; its report is one bit that tells nothing.
        return Group((2, *bins[1:]), bins, domain.sizes, ((0,),), alone)
    room = [ceil(WIDENED * size) if axis in widened else size for axis, size in enumerate(bins)]
    orders = _orders(room, blocks)
    return Group((*orders, *(2 for _ in signs)), bins, domain.sizes, blocks, alone)


def _bins(size: int, alone: int, most: int) -> int:
    """As few equal bins as have the width that keeps them within the limit, and those alone."""
    joined = size - alone
    if size <= most or not joined:
        return size
    width = -(-joined // max(most - alone, 1))
    return -(-joined // width) + alone


def _orders(bins: Sequence[int], blocks: Sequence[Axes]) -> tuple[int, ...]:
    """Padded where some block would have characters of an order beyond LARGEST_ORDER."""
    awkward = {
        axis
        for block in blocks
        if len(sizes := [bins[axis] for axis in block if axis < len(bins)]) > 1
        and lcm(*sizes) > LARGEST_ORDER
        for axis in block
        if axis < len(bins)
    }
    return tuple(_smooth(size) if axis in awkward else size for axis, size in enumerate(bins))


def _smooth(size: int) -> int:
    """The next 2^a 3^b if it is near enough, else the size itself."""
    best = min(2**a * 3**b for a in range(25) for b in range(16) if 2**a * 3**b >= size)
    return best if best <= size * (1.0 + MOST_PADDING) else size


def one_sided(workload: Workload) -> frozenset[int]:
    """Dimensions of which half of the workload's predicates or more have only one end."""
    ends: dict[int, list[float]] = {}
    for axis, weight, is_one_sided in _predicates(workload):
        own = ends.setdefault(axis, [0.0, 0.0])
        own[is_one_sided] += weight
    return frozenset(axis for axis, (two, one) in ends.items() if one >= two)


def is_mostly_one_sided(workload: Workload) -> bool:
    """Whether that is so of all predicates together."""
    balance = sum(
        weight if is_one_sided else -weight for _, weight, is_one_sided in _predicates(workload)
    )
    return balance >= 0.0 and bool(one_sided(workload))


def _predicates(workload: Workload) -> Iterator[tuple[int, float, bool]]:
    """(dimension, weight, whether it has only one end) of every predicate."""
    for entry in workload.classes:
        for axis, kind in entry.predicates:
            yield axis, entry.weight, kind == "prefix"
    for query in workload.queries:
        for _, sides in query.terms:
            for axis, side in enumerate(sides):
                if side is not None:
                    share = query.weight / len(query.terms)
                    yield axis, share, _has_one_end(side, axis, workload.domain)


def _has_one_end(side: CodeSet, axis: int, domain: RecordDomain) -> bool:
    """Whether a side is one interval at either end of the codes with neighbours; one code is an
    equality."""
    last = domain.sizes[axis] - domain.without_neighbours(axis)
    (low, high), *others = side
    return not others and high - low > 1 and (low == 0 or high == last)
