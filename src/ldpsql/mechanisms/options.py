"""Public. Sees parameters. Reading a mechanism's options and its design's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ldpsql.estimate import Array
from ldpsql.mechanisms.allocation import Allocation, DirectAllocation
from ldpsql.mechanisms.consistent import ConsistentDesign
from ldpsql.mechanisms.energies import workload_energies
from ldpsql.mechanisms.groups import Group, GroupTable
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.trees.hierarchy import Hierarchy, Leaves, Tree, balanced, padded
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

DEFAULT_FANOUT = 5
ALLOCATIONS = ("uniform", "optimal")
INFERENCES: Mapping[str, type[LevelDesign]] = {
    "direct": LevelDesign,
    "consistent": ConsistentDesign,
}
TREES: Mapping[str, Callable[[int, int], Tree]] = {"balanced": balanced, "padded": padded}
TREE_OPTIONS = {"fanout": DEFAULT_FANOUT, "tree": "balanced"}
GRR_OPTIONS = {**TREE_OPTIONS, "allocation": "uniform", "inference": "direct"}
OPTIONS = {**GRR_OPTIONS, "oracle": "olh", "root": False}


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def take(options: Mapping[str, Any], known: Mapping[str, Any], mechanism: str) -> dict[str, Any]:
    """The options with their defaults; SurveyError for an unknown one or one of another type."""
    for key, value in options.items():
        if key not in known:
            names = ", ".join(known) or "none"
            raise SurveyError(f"{mechanism} has no option {key!r}; it knows: {names}")
        if type(value) is not type(known[key]):
            kind = _KINDS.get(type(known[key]), type(known[key]).__name__)
            raise SurveyError(
                f"option {key} of {mechanism} must be {kind}, such as {known[key]!r}, not {value!r}"
            )
    return {**known, **options}


def one_of(option: str, value: str, values: Iterable[str]) -> None:
    """SurveyError for a value that an option does not have."""
    known = list(values)
    if value not in known:
        raise SurveyError(f"{option} must be one of {', '.join(known)}, not {value!r}")


def trees_for(domain: RecordDomain, chosen: Mapping[str, Any]) -> tuple[Tree, ...]:
    """A tree for every dimension by the options `fanout` and `tree`; SurveyError for others."""
    one_of("tree", chosen["tree"], TREES)
    return tuple(TREES[chosen["tree"]](size, chosen["fanout"]) for size in domain.sizes)


def one_dimension(domain: RecordDomain, mechanism: str) -> None:
    """Refuse more than one attribute where a mechanism is for one."""
    if len(domain.sizes) != 1:
        raise SurveyError(
            f"{mechanism} is for one dimension, not {len(domain.sizes)}; use hio, ahio or ehio"
        )


def no_measures(domain: RecordDomain, mechanism: str, advice: str = "declare it public") -> None:
    """Refuse private measures where a mechanism has no place for them."""
    if domain.measure_names:
        raise SurveyError(
            f"{mechanism} takes no private measure ({domain.measure_names[0]}); "
            f"{advice}, or use ahio, ehio or hgrr"
        )


def restore(
    name: str, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
) -> LevelDesign:
    """A level design from what its `to_json` wrote."""
    maker = INFERENCES[data.get("inference", "direct")]
    return checked(maker(name, domain, epsilon, restored_table(domain, data), data["oracle"]))


def restored_table(domain: RecordDomain, data: Mapping[str, Any]) -> GroupTable:
    """Trees and groups from what a design's `to_json` wrote."""
    trees: tuple[Hierarchy, ...]
    if "fanouts" in data:
        pairs = zip(domain.sizes, data["fanouts"], strict=True)
        trees = tuple(Tree(size, tuple(map(whole, fanouts))) for size, fanouts in pairs)
    else:
        trees = tuple(Leaves(size) for size in domain.sizes)
    return GroupTable(trees, tuple(_group(entry, trees, domain) for entry in data["groups"]))


def _group(entry: Sequence[Any], trees: Sequence[Hierarchy], domain: RecordDomain) -> Group:
    """A group from its JSON; SurveyError if it does not fit the trees."""
    levels, sign, frame, weight = entry
    group = Group(
        tuple(map(whole, levels)),
        None if sign is None else whole(sign),
        whole(frame),
        int(weight),
    )
    fits = len(group.levels) == len(trees) and all(
        0 <= level < len(tree.counts) for level, tree in zip(group.levels, trees, strict=True)
    )
    if not fits or not (group.sign is None or 0 <= group.sign < len(domain.bounds)):
        raise SurveyError("a group of the design does not fit the schema")
    return group


def whole(value: Any) -> int:
    """A JSON integer as it is: a float would make thresholds inexact."""
    if type(value) is not int:
        raise SurveyError("a design holds whole numbers only")
    return value


def hierarchical(
    name: str,
    domain: RecordDomain,
    epsilon: Epsilon,
    trees: tuple[Tree, ...],
    groups: tuple[Group, ...],
    chosen: Mapping[str, Any],
    workload: Workload | None = None,
) -> LevelDesign:
    """A level design with the options `oracle`, `allocation` and `inference`.

    The allocation is optimal for the inference that was chosen. SurveyError for values that the
    options do not have.
    """
    one_of("allocation", chosen["allocation"], ALLOCATIONS)
    one_of("inference", chosen["inference"], INFERENCES)
    table = GroupTable(trees, groups)
    if chosen["allocation"] == "optimal":
        oracles = OracleTable(chosen["oracle"], epsilon, table.sizes)
        asked = workload or Workload.everyday(domain)
        table = table.reweighted(_best_shares(table, oracles, asked, chosen["inference"]))
    maker = INFERENCES[chosen["inference"]]
    return checked(maker(name, domain, epsilon, table, chosen["oracle"]))


def _best_shares(
    table: GroupTable, oracles: OracleTable, workload: Workload, inference: str
) -> Array:
    if inference == "direct":
        return DirectAllocation(table, oracles, workload).optimal()
    return Allocation(table, oracles, workload_energies(workload, table.trees)).optimal()


class _WithOracles(Protocol):
    """A design that answers by frequency oracles."""

    @property
    def oracles(self) -> OracleTable: ...


_Made = TypeVar("_Made", bound=_WithOracles)


def checked(design: _Made) -> _Made:
    """The design, once its oracles have said that they can serve its groups, levels or grids."""
    design.oracles.limits  # noqa: B018  SurveyError at birth rather than at the first report
    return design
