"""The mechanism `fourier`: the group of a record domain, designs, and their restoration from JSON.

Very large axes are made coarse; axes whose sizes would give characters of huge order are padded to
a near size of small primes. In a plan, families with the same factors and kind of base set are the
choices of one step of one face, and their orders, characters and lengths are columns over it.
Source: docs/spec/fourier.md#6.1 and docs/spec/fourier.md#6.4.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil, lcm, log2, prod, sqrt
from typing import Literal

import numpy as np

from ldpsql.algebra.boxes import CodeSet
from ldpsql.algebra.estimate import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.estimators.groups import whole
from ldpsql.mechanisms.base import AnyOptions, Promise, Recipe, Retuner, Task
from ldpsql.mechanisms.fourier.candidates import Emitted
from ldpsql.mechanisms.fourier.design import DECODING, Forms, FourierDesign, KeptDesign
from ldpsql.mechanisms.fourier.families import FamilyTable
from ldpsql.mechanisms.fourier.group import MOST_TOGETHER, Axes, Group, Integers, Look
from ldpsql.mechanisms.fourier.optimise import (
    design_families,
    find_equality_axes,
    find_single,
)
from ldpsql.mechanisms.fourier.product_recipe import (
    ProductDesign,
    design_product,
    has_product_form,
    round_weights,
)
from ldpsql.mechanisms.fourier.spectra import RealCells, class_power, demand, floor
from ldpsql.mechanisms.oracles import odds_words
from ldpsql.reports.survey_file import plan_to_json, vary
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import (
    LARGEST_RADIX,
    Arcs,
    Comb,
    Digit,
    Face,
    Integer,
    Part,
    Plan,
    Scrambled,
    Step,
    Term,
    plan_from_json,
)

DEFAULT_BINS = 4096
_MOST_BINS = 1 << 24
LARGEST_ORDER = 1024
MOST_UNORDERED = 1 << 13
MOST_PADDING = 0.12
WIDENED = 1.25
LEAST_BINS, MOST_BINS = 256, 4096
"""How many bins `auto` gives a very large dimension."""
FEWEST_BINS = 16
"""Bins are not made fewer than these to keep a survey within MOST_TOGETHER."""
_BITS, _FEWER_BITS, _MANY_FAMILIES = 6, 4, 1 << 14
_FACE_SCALE = float(1 << 20)
LARGE_PLAN, MOST_LOSS, MOST_CLASS_LOSS, MOST_PRODUCT_CELLS = 9500, 1.02, 1.1, 1 << 22
"""Bytes, compressed, from which a plan is tried in product form; how much more expected error that
may have, on the whole and for one class of queries; and cells above which it takes too long."""
PRODUCT_BITS = 4, 3, 2
"""Of the mantissas of weights in product form: the first with which the plan is not large."""


@dataclass(frozen=True)
class FourierOptions:
    """bins: a dimension of more codes is collected in at most so many bins; in fewer where what is
    asked together would have more cells than a design can (`MOST_TOGETHER`).

    one_sided: "yes" for circles larger than the dimensions, on which questions with one end cost
    less and others a little more; "auto" where at least half of the workload's predicates have one
    end and the domain is small enough.

    smooth_for: of how many people the smooth answers are to be best; 0 where the unbiased ones are.

    form: "listed" for a plan that lists its questions one by one; "product" for one that describes
    them by weights per dimension; "auto" for the listed one unless it is large and the other, which
    is much smaller, has hardly more expected error.
    """

    bins: int = DEFAULT_BINS
    one_sided: Literal["auto", "yes", "no"] = "auto"
    smooth_for: int = 0
    form: Literal["auto", "listed", "product"] = "auto"


class Fourier(Retuner[FourierOptions], Recipe[FourierOptions]):
    """COUNT over boxes, and SUM and AVG of private measures."""

    name = "fourier"
    estimator_names = ("unbiased", "smooth")
    decoding = DECODING
    options = FourierOptions

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterator[AnyOptions]:
        """The defaults; for a very large dimension bins as fine as the people can tell."""
        is_large = max(workload.domain.sizes, default=0) > MOST_BINS
        yield {"bins": choose_bins(people)} if is_large else {}

    def smooth_options(self, options: AnyOptions, people: int) -> AnyOptions:
        """Those of a design that is smoothed, for so many people."""
        return {"smooth_for": people, **options}

    def make(self, task: Task[FourierOptions]) -> FourierDesign:
        """The families that answer the workload best."""
        chosen, asked = task.options, task.asked
        if not 2 <= chosen.bins <= _MOST_BINS:
            raise SurveyError(f"bins must lie between 2 and {_MOST_BINS}")
        group, restricted = _group_and_form(task.domain, asked, chosen)
        if chosen.form == "product":
            design = None if restricted else _in_product_form(task, group)
            if design is None:
                raise SurveyError(
                    "form = product is for workloads whose queries ask about two dimensions "
                    "together at most, and some of them about two, and for no more questions than "
                    "a plan may have; use form = auto"
                )
        else:
            families = design_families(
                group, asked, float(task.epsilon.odds), restricted, chosen.smooth_for
            )
            plan = plan_of(families, group, task.epsilon)
            design = FourierDesign(task.domain, task.epsilon, asked, group, plan, restricted)
        missing = design.find_missing()
        if missing is not None:
            names = " by ".join(task.domain.names[axis] for axis in missing) or "the measures"
            raise SurveyError(
                f"this design cannot answer its workload: no report would say enough about {names}"
                "; ask about fewer columns together ([workload] max_predicates), or in wider bins"
            )
        is_open = chosen.form == "auto" and not restricted and not chosen.smooth_for
        return _choose_form(task, design) if is_open else design

    def retune(self, design: FourierDesign, epsilon: Epsilon) -> FourierDesign:
        """The same families and weights."""
        plan = replace(design.plan, odds=(odds_words(epsilon),))
        return replace(design, epsilon=epsilon, plan=plan)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> FourierDesign:
        """From `FourierDesign.to_json`; every family is checked."""
        group, restricted, workload = _read_form(domain, data)
        given = data["plan"]
        plan = given if isinstance(given, Plan) else plan_from_json(given)
        return FourierDesign(domain, epsilon, workload, group, plan, restricted)

    def restore_kept(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        data: AnyOptions,
        derived: Mapping[str, Array],
        read_plan: Callable[[], Plan],
    ) -> KeptDesign | None:
        """The design from what was derived of it before; None unless all questions are listed."""
        group, restricted, workload = _read_form(domain, data)
        table = FamilyTable.unpack(derived, group)
        if table is None:
            return None
        form = (workload, group, restricted, table)
        return KeptDesign(domain, epsilon, *form, derived, read_plan)


FOURIER = Fourier()


def _read_form(domain: RecordDomain, data: AnyOptions) -> tuple[Group, bool, Workload]:
    """Group, whether it is restricted, and workload, as `FourierDesign.to_json` wrote them."""
    group = Group(
        tuple(map(whole, data["orders"])),
        tuple(map(whole, data["bins"])),
        domain.sizes,
        tuple(tuple(map(whole, block)) for block in data["blocks"]),
        tuple(domain.unordered_codes(axis) for axis in range(len(domain.sizes))),
    )
    _check_axes(group, domain)
    restricted = data.get("restricted", False)
    if type(restricted) is not bool:
        raise SurveyError("whether a design is restricted is true or false")
    return group, restricted, Workload.from_json(domain, data["workload"])


# -- the group ------------------------------------------------------------------------------------


def group_of(
    domain: RecordDomain,
    workload: Workload,
    most_bins: int,
    widened: frozenset[int] = frozenset(),
    whole: frozenset[int] = frozenset(),
) -> Group:
    """One axis per dimension and per measure; blocks from the workload's largest queries.

    most_bins: a dimension of more codes gets about so many bins of equal width; codes without
    neighbours keep bins of their own.  widened: dimensions whose circles are to be larger than they
    need (`find_one_sided`).  whole: dimensions of which every code keeps one (`find_single`).
    """
    unordered = tuple(domain.unordered_codes(axis) for axis in range(len(domain.sizes)))
    bins = tuple(
        size if axis in whole else _bins(size, own, most_bins)
        for axis, (size, own) in enumerate(zip(domain.sizes, unordered, strict=True))
    )
    blocks = _list_blocks(workload, range(len(bins), len(bins) + len(domain.bounds)))
    if not blocks:
        # A single code cannot be asked about; its report is one bit that tells nothing.
        return Group((2, *bins[1:]), bins, domain.sizes, ((0,),), unordered)
    orders = [ceil(WIDENED * size) if axis in widened else size for axis, size in enumerate(bins)]
    for axis in _find_padded(blocks, orders):
        orders[axis] = _smooth(orders[axis])
    return Group((*orders, *(2 for _ in domain.bounds)), bins, domain.sizes, blocks, unordered)


def _list_blocks(workload: Workload, signs: range) -> tuple[Axes, ...]:
    """The dimensions that the largest queries ask about, with every sign; none that are empty."""
    supports = workload.supports or ((),)
    blocks = chain(*([(*own, sign) for sign in signs] or [own] for own in supports))
    return tuple(filter(None, blocks))


def _find_padded(blocks: Sequence[Axes], orders: Sequence[int]) -> set[int]:
    """The dimensions of blocks that would have characters of an order beyond LARGEST_ORDER."""
    asked = [[axis for axis in block if axis < len(orders)] for block in blocks]
    large = [own for own in asked if lcm(*(orders[axis] for axis in own)) > LARGEST_ORDER]
    return {axis for own in large if len(own) > 1 for axis in own}


def find_fitting_group(domain: RecordDomain, workload: Workload, most_bins: int) -> Group:
    """The group with the finest bins, of at most so many, that keep all blocks together within
    MOST_TOGETHER cells; SurveyError where none do, or where too many codes must keep their own."""
    whole = find_single(workload)
    unordered = [
        size if axis in whole else domain.unordered_codes(axis)
        for axis, size in enumerate(domain.sizes)
    ]
    for name, count in zip(domain.names, unordered, strict=True):
        if count > MOST_UNORDERED:
            raise SurveyError(
                f"{name} has {count} values that are asked for one by one, more than "
                f"{MOST_UNORDERED} that fourier collects so; use olh, or fewer values"
            )
    while True:
        try:
            group = group_of(domain, workload, most_bins, whole=whole)
            cells = sum(map(group.cells, group.blocks))
            if cells <= MOST_TOGETHER:
                return group
            problem = SurveyError(
                f"what the workload asks together would need {cells} cells, more than "
                f"{MOST_TOGETHER}: use coarser bins, or a smaller max_predicates in [workload]"
            )
        except SurveyError as error:
            problem = error
        if most_bins <= FEWEST_BINS or list(domain.sizes) == unordered:
            raise problem
        largest = max(domain.sizes)
        most_bins = max(FEWEST_BINS, min(most_bins, largest) * 7 // 8)


def _bins(size: int, unordered: int, most: int) -> int:
    """As few equal bins as have the width that keeps them within the limit, and those of unordered
    codes."""
    joined = size - unordered
    if size <= most or not joined:
        return size
    width = -(-joined // max(most - unordered, 1))
    return -(-joined // width) + unordered


def _smooth(size: int) -> int:
    """The next 2^a 3^b if it is near enough, else the size itself."""
    best = min(2**a * 3**b for a in range(25) for b in range(16) if 2**a * 3**b >= size)
    return best if best <= size * (1.0 + MOST_PADDING) else size


def choose_bins(people: int) -> int:
    """16 sqrt(people / 40), a power of two: finer bins would cost more noise than they tell.

    Source: docs/spec/fourier.md#6.4.
    """
    wanted = log2(16.0 * sqrt(people / 40.0))
    return min(max(1 << max(round(wanted), 0), LEAST_BINS), MOST_BINS)


def _group_and_form(
    domain: RecordDomain, workload: Workload, chosen: FourierOptions
) -> tuple[Group, bool]:
    """The group, and whether answers are restricted to the cells that exist."""
    plain = find_fitting_group(domain, workload, chosen.bins)
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
    widened = find_one_sided(workload) or asked - find_equality_axes(workload)
    whole = find_single(workload)
    return group_of(domain, workload, chosen.bins, frozenset(widened), whole), True


def find_one_sided(workload: Workload) -> frozenset[int]:
    """Dimensions of which half of the workload's predicates or more have only one end."""
    return frozenset(axis for axis, (two, one) in _ends(workload).items() if one >= two)


def is_mostly_one_sided(workload: Workload) -> bool:
    """Whether that is so of all predicates together."""
    ends = _ends(workload).values()
    two, one = (sum(own) for own in zip([0.0, 0.0], *ends, strict=True))
    return one >= two and bool(find_one_sided(workload))


def _ends(workload: Workload) -> dict[int, list[float]]:
    """By dimension, the weight of the predicates with two ends, and of those with only one."""
    predicates = [
        (axis, entry.weight, kind == "prefix")
        for entry in workload.classes
        for axis, kind in entry.predicates
    ]
    predicates += [
        (axis, query.weight / len(query.terms), _has_one_end(side, axis, workload.domain))
        for query in workload.queries
        for _, sides in query.terms
        for axis, side in enumerate(sides)
        if side is not None
    ]
    ends: dict[int, list[float]] = {}
    for axis, weight, has_one_end in predicates:
        ends.setdefault(axis, [0.0, 0.0])[has_one_end] += weight
    return ends


def _has_one_end(side: CodeSet, axis: int, domain: RecordDomain) -> bool:
    """Whether a side is one interval at either end of the codes with neighbours; one code is an
    equality."""
    last = domain.sizes[axis] - domain.unordered_codes(axis)
    (low, high), *others = side
    return not others and high - low > 1 and (low == 0 or high == last)


def _check_axes(group: Group, domain: RecordDomain) -> None:
    """SurveyError unless the group is one that the domain's records can be embedded in."""
    signs, axes = len(domain.bounds), range(len(group.orders))
    if len(group.bins) != len(domain.sizes) or len(group.orders) != len(group.bins) + signs:
        raise SurveyError("the design has not one axis per dimension and measure")
    known = zip(group.bins, domain.sizes, group.orders, group.unordered, strict=False)
    fits = all(
        1 <= bins <= min(size, order) and _is_even(size - unordered, bins - unordered)
        for bins, size, order, unordered in known
    )
    if not fits or group.orders[len(group.bins) :] != (2,) * signs:
        raise SurveyError("the axes of the design do not fit the schema")
    ascending = all(block == tuple(sorted(set(block) & set(axes))) for block in group.blocks)
    inside = any(set(a) < set(b) for a in group.blocks for b in group.blocks)
    crowded = any(sum(axis >= len(group.bins) for axis in block) > 1 for block in group.blocks)
    if not group.blocks or not all(group.blocks) or not ascending or inside or crowded:
        raise SurveyError("the blocks of the design are not those of a survey")


def _is_even(codes: int, bins: int) -> bool:
    """Whether so many codes fall into so many bins of one width, none empty."""
    return codes == bins == 0 or (bins > 0 and -(-codes // -(-codes // bins)) == bins)


# -- the form -------------------------------------------------------------------------------------


def _choose_form(task: Task[FourierOptions], listed: FourierDesign) -> FourierDesign:
    """The listed design, or the same in product form where that is much smaller and hardly worse.

    Source: docs/spec/fourier.md#13.4.
    """
    size, cells = compressed_size(listed.plan), sum(map(listed.group.cells, listed.group.blocks))
    if size <= LARGE_PLAN or not has_product_form(listed.group):
        return listed
    product = _in_product_form(task, listed.group) if cells <= MOST_PRODUCT_CELLS else None
    if product is None or product.find_missing() is not None:
        return listed.compare(Forms(size))
    error = sqrt(mean_variance(product) / mean_variance(listed))
    smaller = compressed_size(product.plan)
    forms = Forms(size, smaller, error)
    if error > MOST_LOSS or size <= smaller:
        return listed.compare(forms)
    worst = _largest_loss(product, listed)
    if worst > MOST_CLASS_LOSS:
        return listed.compare(replace(forms, worst=worst))
    return product.compare(forms)


def _largest_loss(design: FourierDesign, other: FourierDesign) -> float:
    """The largest ratio of the expected error of a class of queries to that of another design."""
    ratios = [1.0]
    for entry in design.workload.classes:
        one, two = (
            own.collected.second_moment(class_power(entry, own.group)) for own in (design, other)
        )
        ratios += [one / two] if two else []
    return sqrt(max(ratios))


def _in_product_form(task: Task[FourierOptions], group: Group) -> FourierDesign | None:
    """With weights as fine as LARGE_PLAN bytes allow; None where there is none."""
    found = design_product(group, task.asked, float(task.epsilon.odds))
    if found is None:
        return None
    for bits in PRODUCT_BITS:
        plan = product_plan_of(found, group, task.epsilon, bits)
        if compressed_size(plan) <= LARGE_PLAN:
            break
    return FourierDesign(task.domain, task.epsilon, task.asked, group, plan)


def compressed_size(plan: Plan) -> int:
    """Bytes of its compressed JSON."""
    return len(zlib.compress(json.dumps(plan_to_json(plan), separators=(",", ":")).encode(), 9))


def mean_variance(design: FourierDesign) -> float:
    """Per person, over the queries of its workload, people spread evenly over the group."""
    needed = demand(design.workload, design.group)
    return design.collected.second_moment(needed.items()) + floor(needed)


# -- the plan -------------------------------------------------------------------------------------


def plan_of(
    families: Iterable[Emitted], group: Group, epsilon: Epsilon, bits: int | None = None
) -> Plan:
    """The plan that asks the families with probabilities proportional to their weights.

    A weight is a short mantissa with an exponent: it is most of what a family takes in a compressed
    survey, and rounding it raises the expected error by a ten-thousandth at most.
    bits: of the mantissa of a weight. By default 6, and 4 for many families: errors of so many
    weights average out, as every frequency is informed by dozens of them.
    """
    faces = _merge(families)
    weights = np.concatenate([part.weights for parts in faces for part in parts])
    most = bits or (_BITS if len(weights) <= _MANY_FAMILIES else _FEWER_BITS)
    mantissas, exponents = round_weights(weights, most)
    looks, tables = group.looks()
    built, end = [], 0
    for parts in faces:
        start, end = end, end + sum(len(part.weights) for part in parts)
        step = Step(tuple(mantissas[start:end].tolist()), tuple(exponents[start:end].tolist()))
        built.append(Face(sum(step.weights), (_part(parts, looks),), (step,)))
    return _plan(built, group, epsilon, tables)


def product_plan_of(design: ProductDesign, group: Group, epsilon: Epsilon, bits: int) -> Plan:
    """The plan of a design in product form: first the listed families.

    bits: of the mantissas of weights.
    """
    looks, tables = group.looks()
    built: list[Face] = []
    if design.listed:
        listed = plan_of(design.listed, group, epsilon, bits).faces
        share = sum(float(part.weights.sum()) for part in design.listed)
        scale = share * _FACE_SCALE / sum(face.weight for face in listed)
        built += (replace(face, weight=max(round(face.weight * scale), 1)) for face in listed)
    for own, shape, chosen in design.shapes:
        built.append(shape.face(max(round(own * _FACE_SCALE), 1), chosen, looks, bits))
    return _plan(built, group, epsilon, tables)


def _plan(
    faces: Sequence[Face], group: Group, epsilon: Epsilon, tables: tuple[tuple[int, ...], ...]
) -> Plan:
    signs = len(group.orders) - group.dimensions
    odds = (odds_words(epsilon),)
    return Plan((*group.sizes, *(2 for _ in range(signs))), odds, tuple(faces), tables)


def _merge(families: Iterable[Emitted]) -> list[list[Emitted]]:
    """Clusters of one shape together, in the order of the first of each.

    Not where the largest orders of all would make more phases than a symbol may have values.
    """
    faces: list[list[Emitted]] = []
    alike: dict[tuple[str, tuple[Axes, ...]], list[tuple[list[Emitted], list[int]]]] = {}
    for part in families:
        cluster = part.cluster
        found = alike.setdefault((cluster.base, cluster.factors), [])
        for face, orders in found:
            largest = list(map(max, orders, cluster.orders))
            if prod(largest) <= LARGEST_RADIX:
                face.append(part)
                orders[:] = largest
                break
        else:
            faces.append([part])
            found.append((faces[-1], list(cluster.orders)))
    return faces


def _part(parts: Sequence[Emitted], looks: Sequence[Look]) -> Part:
    """Symbol and response of all families of a face, each integer a column over its one step."""
    clusters = [part.cluster for part in parts]
    first = clusters[0]

    def columns(tables: Sequence[Integers]) -> list[Integer]:
        return [vary(0, column) for column in np.concatenate(tables).T]

    orders = columns([np.tile(cluster.orders, (len(cluster), 1)) for cluster in clusters])
    steps = columns([cluster.turns for cluster in clusters])
    numbers = columns([cluster.parameters for cluster in clusters])
    terms = {
        axis: Term(axis, steps[first.columns[axis]], divide=looks[axis][0], cuts=looks[axis][1])
        for axis in first.axes
    }
    digits = tuple(
        Digit(tuple(terms[axis] for axis in factor), order, modulus=True)
        for factor, order in zip(first.factors, orders, strict=True)
    )
    if first.base == "arcs":
        return Part(digits, Arcs(0, tuple(numbers)))
    return Part(digits, (Comb if first.base == "comb" else Scrambled)(0, *numbers))
