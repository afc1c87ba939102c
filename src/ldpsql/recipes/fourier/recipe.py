"""The mechanism `fourier`: the group of a record domain, designs, and their restoration from JSON.

Very large axes are made coarse; axes whose sizes would give characters of huge order are padded to
a near size of small primes. Source: docs/spec/fourier.md#6.1 and docs/spec/fourier.md#6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import ceil, lcm, log2, sqrt
from typing import Any, Literal

from ldpsql.boxes import CodeSet
from ldpsql.decoders.fourier.design import FourierDesign
from ldpsql.decoders.fourier.group import Axes, Group
from ldpsql.decoders.fourier.information import RealCells
from ldpsql.recipes.base import AnyOptions, Promise, Recipe, Task
from ldpsql.recipes.fourier.optimise import design_families, equality_axes
from ldpsql.recipes.fourier.plan import plan_of
from ldpsql.record_domain import RecordDomain
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import plan_from_json

DEFAULT_BINS = 4096
_MOST_BINS = 1 << 24
LARGEST_ORDER = 1024
MOST_UNORDERED = 1 << 13
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
    unordered = tuple(domain.unordered_codes(axis) for axis in range(len(domain.sizes)))
    for name, count in zip(domain.names, unordered, strict=True):
        if count > MOST_UNORDERED:
            raise SurveyError(
                f"{name} has {count} values without an order, more than {MOST_UNORDERED} that "
                "fourier collects one by one; use olh, or fewer values"
            )
    bins = tuple(map(_bins, domain.sizes, unordered, repeat(most_bins)))
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
        return Group((2, *bins[1:]), bins, domain.sizes, ((0,),), unordered)
    room = [ceil(WIDENED * size) if axis in widened else size for axis, size in enumerate(bins)]
    orders = _orders(room, blocks)
    return Group((*orders, *(2 for _ in signs)), bins, domain.sizes, blocks, unordered)


def _bins(size: int, unordered: int, most: int) -> int:
    """As few equal bins as have the width that keeps them within the limit, and those of unordered
    codes."""
    joined = size - unordered
    if size <= most or not joined:
        return size
    width = -(-joined // max(most - unordered, 1))
    return -(-joined // width) + unordered


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


LEAST_BINS, MOST_BINS = 256, 4096
"""How many bins `auto` gives a very large dimension."""


def bins_for(people: int) -> int:
    """16 sqrt(people / 40), a power of two: finer bins would cost more noise than they tell.

    Source: docs/spec/fourier.md#6.4.
    """
    wanted = log2(16.0 * sqrt(people / 40.0))
    return min(max(1 << max(round(wanted), 0), LEAST_BINS), MOST_BINS)


@dataclass(frozen=True)
class FourierOptions:
    """bins: a dimension of more codes is collected in at most so many bins.

    one_sided: "yes" for circles larger than the dimensions, on which questions with one end cost
    less and others a little more; "auto" where at least half of the workload's predicates have one
    end and the domain is small enough.
    """

    bins: int = DEFAULT_BINS
    one_sided: Literal["auto", "yes", "no"] = "auto"


class Fourier(Recipe[FourierOptions]):
    """COUNT over boxes, and SUM and AVG of private measures."""

    name = "fourier"
    options = FourierOptions
    estimator_names = ("unbiased", "smooth")

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterator[AnyOptions]:
        """The defaults; for a very large dimension bins as fine as the people can tell."""
        is_large = max(workload.domain.sizes, default=0) > MOST_BINS
        yield {"bins": bins_for(people)} if is_large else {}

    def make(self, task: Task[FourierOptions]) -> FourierDesign:
        """The families that answer the workload best."""
        chosen, asked = task.options, task.asked
        if not 2 <= chosen.bins <= _MOST_BINS:
            raise SurveyError(f"bins must lie between 2 and {_MOST_BINS}")
        group, restricted = _group_and_form(task.domain, asked, chosen)
        families = design_families(group, asked, float(task.epsilon.odds), restricted)
        plan = plan_of(families, group, task.epsilon)
        return FourierDesign(task.domain, task.epsilon, asked, group, plan, restricted)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> FourierDesign:
        """From `FourierDesign.to_json`; every family is checked."""
        group = Group(
            tuple(map(_whole, data["orders"])),
            tuple(map(_whole, data["bins"])),
            domain.sizes,
            tuple(_block(block, len(data["orders"])) for block in data["blocks"]),
            tuple(domain.unordered_codes(axis) for axis in range(len(domain.sizes))),
        )
        _check_axes(group, domain)
        restricted = data.get("restricted", False)
        if type(restricted) is not bool:
            raise SurveyError("whether a design is restricted is true or false")
        workload = Workload.from_json(domain, data["workload"])
        plan = plan_from_json(data["plan"])
        return FourierDesign(domain, epsilon, workload, group, plan, restricted)


def _group_and_form(
    domain: RecordDomain, workload: Workload, chosen: FourierOptions
) -> tuple[Group, bool]:
    """The group, and whether answers are restricted to the cells that exist."""
    plain = group_of(domain, workload, chosen.bins)
    is_auto = chosen.one_sided == "auto"
    if not (is_mostly_one_sided(workload) if is_auto else chosen.one_sided == "yes"):
        return plain, False
    try:
        RealCells(plain)
    except SurveyError:
        if is_auto:
            return plain, False
        raise
    asked = {axis for block in plain.blocks for axis in block if axis < plain.dimensions}
    widened = one_sided(workload) or asked - equality_axes(workload)
    return group_of(domain, workload, chosen.bins, frozenset(widened)), True


def _check_axes(group: Group, domain: RecordDomain) -> None:
    """SurveyError unless the group is one that the domain's records can be embedded in."""
    signs = len(domain.bounds)
    if len(group.bins) != len(domain.sizes) or len(group.orders) != len(group.bins) + signs:
        raise SurveyError("the design has not one axis per dimension and measure")
    fits = all(
        1 <= bins <= min(size, order) and _is_even(size - unordered, bins - unordered)
        for bins, size, order, unordered in zip(
            group.bins, domain.sizes, group.orders, group.unordered, strict=False
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
        raise SurveyError("a block of the design holds an axis twice, or one that does not exist")
    return block


def _whole(value: Any) -> int:
    """A JSON integer as it is."""
    if type(value) is not int:
        raise SurveyError("a design holds whole numbers only")
    return value


FOURIER = Fourier()
