"""The mechanism `fourier`: the group of a record domain, designs, and their restoration from JSON.

Very large axes are made coarse; axes whose sizes would give characters of huge order are padded to
a near size of small primes. Source: docs/spec/fourier.md#6.1 and docs/spec/fourier.md#6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from math import ceil, lcm
from typing import Any

import numpy as np

from ldpsql.boxes import CodeSet
from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.decoders.fourier.families import Cluster, FamilyTable
from ldpsql.decoders.fourier.group import Axes, Group, Integers
from ldpsql.decoders.fourier.information import RealCells
from ldpsql.mechanisms.options import one_of, take
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.recipes.fourier.optimise import design_families, equality_axes
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
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
    alone = tuple(domain.unordered_codes(axis) for axis in range(len(domain.sizes)))
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
    last = domain.sizes[axis] - domain.unordered_codes(axis)
    (low, high), *others = side
    return not others and high - low > 1 and (low == 0 or high == last)


DEFAULT_BINS = 4096
_LARGEST = 1 << 24


class Fourier(Recipe[NoOptions]):
    """COUNT over boxes, and SUM and AVG of private measures."""

    name = "fourier"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> FourierDesign:
        """The families that answer the workload best.

        Options: `bins`: a dimension of more codes is collected in at most so many bins.
        `one_sided`: "yes" for circles larger than the dimensions, on which questions with one
        end cost less and others a little more; "auto" where at least half of the workload's
        predicates have one end and the domain is small enough.
        """
        known = {"bins": DEFAULT_BINS, "one_sided": "auto"}
        chosen = take(options, known, self.name)
        if not 2 <= chosen["bins"] <= _LARGEST:
            raise SurveyError(f"bins must lie between 2 and {_LARGEST}")
        asked = workload or Workload.everyday(domain)
        group, restricted = _layout(domain, asked, chosen["bins"], chosen["one_sided"])
        table = design_families(group, asked, float(epsilon.odds), restricted)
        return FourierDesign(domain, epsilon, asked, group, table, restricted)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> FourierDesign:
        """From a survey's JSON; every family is checked."""
        group = Group(
            tuple(map(_whole, data["orders"])),
            tuple(map(_whole, data["bins"])),
            domain.sizes,
            tuple(_block(block, len(data["orders"])) for block in data["blocks"]),
            tuple(domain.unordered_codes(axis) for axis in range(len(domain.sizes))),
        )
        _check_axes(group, domain)
        workload = Workload.from_json(domain, data["workload"])
        clusters = tuple(_cluster(entry, group) for entry in data["clusters"])
        weights = tuple(_whole(w) for entry in data["clusters"] for w in entry["weights"])
        table, restricted = FamilyTable(clusters, weights), data.get("restricted", False)
        if type(restricted) is not bool:
            raise SurveyError("whether a design is restricted is true or false")
        return FourierDesign(domain, epsilon, workload, group, table, restricted)


def _layout(
    domain: RecordDomain, workload: Workload, most_bins: int, choice: str
) -> tuple[Group, bool]:
    """The group, and whether answers are restricted to the cells that exist."""
    one_of("one_sided", choice, ("auto", "yes", "no"))
    plain = group_of(domain, workload, most_bins)
    wanted = choice == "yes" or (choice == "auto" and is_mostly_one_sided(workload))
    if not wanted:
        return plain, False
    try:
        RealCells(plain)
    except SurveyError:
        if choice == "auto":
            return plain, False
        raise
    asked = {axis for block in plain.blocks for axis in block if axis < plain.dimensions}
    widened = one_sided(workload) or asked - equality_axes(workload, plain)
    return group_of(domain, workload, most_bins, frozenset(widened)), True


def _check_axes(group: Group, domain: RecordDomain) -> None:
    """SurveyError unless the group is one that the domain's records can be embedded in."""
    signs = len(domain.bounds)
    if len(group.bins) != len(domain.sizes) or len(group.orders) != len(group.bins) + signs:
        raise SurveyError("the design has not one axis per dimension and measure")
    fits = all(
        1 <= bins <= min(size, order) and _is_even(size - alone, bins - alone)
        for bins, size, order, alone in zip(
            group.bins, domain.sizes, group.orders, group.alone, strict=False
        )
    )
    if not fits or group.orders[len(group.bins) :] != (2,) * signs:
        raise SurveyError("the axes of the design do not fit the schema")
    inside = any(set(a) < set(b) for a in group.blocks for b in group.blocks)
    crowded = any(sum(axis >= len(group.bins) for axis in block) > 1 for block in group.blocks)
    if not group.blocks or not all(group.blocks) or inside or crowded:
        raise SurveyError("the blocks of the design are not those of a survey")


def _is_even(codes: int, bins: int) -> bool:
    """Whether so many codes fall into so many bins of one width, none empty."""
    return codes == bins == 0 or (bins > 0 and -(-codes // -(-codes // bins)) == bins)


def _block(entry: Sequence[Any], axes: int) -> Axes:
    """Axes in ascending order."""
    block = tuple(map(_whole, entry))
    if list(block) != sorted(set(block)) or not set(block) <= set(range(axes)):
        raise SurveyError("a block of the design holds an axis twice, or one that there is not")
    return block


def _cluster(entry: Mapping[str, Any], group: Group) -> Cluster:
    factors = tuple(tuple(map(_whole, factor)) for factor in entry["factors"])
    if any(not 0 <= axis < len(group.orders) for factor in factors for axis in factor):
        raise SurveyError("a family of the design lies on an axis that there is not")
    axes = {axis for factor in factors for axis in factor}
    if not any(axes <= set(block) for block in group.blocks):
        raise SurveyError("a family of the design lies outside its blocks")
    rows = len(entry["weights"])
    return Cluster(
        entry["base"],
        factors,
        tuple(map(_whole, entry["orders"])),
        _matrix(entry["characters"], rows),
        _matrix(entry["parameters"], rows),
        group,
    )


def _matrix(values: Sequence[Sequence[Any]], rows: int) -> Integers:
    """A table of whole numbers, shape (rows, columns)."""
    found = np.array([[_whole(value) for value in row] for row in values], dtype=np.int64)
    if len(found) != rows:
        raise SurveyError("a cluster of the design has not one row per family")
    return found.reshape(rows, -1)


def _whole(value: Any) -> int:
    """A JSON integer as it is."""
    if type(value) is not int:
        raise SurveyError("a design holds whole numbers only")
    return value
