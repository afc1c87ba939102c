"""Public. Sees parameters. What the designs that report nodes of trees have in common.

Groups of nodes (`groups`), and queries broken into them. What a report looks like, how it is
drawn and what is estimated from it is left to the designs. Specification: h4mda, sections 1.1 to
1.5 and 1.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ldpsql.boxes import Box, LinearQuery
from ldpsql.decoders.base import Design
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import (
    Alternative,
    CellQuery,
    GroupCells,
    known_lines,
    split_known,
)
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.trees.cells import Cells, cells_of
from ldpsql.trees.hierarchy import Tree
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.schema import RecordDomain

Pieces = list[tuple[Array, Cells]]


@dataclass(frozen=True)
class NodeDesign(Design[CellQuery]):
    """Groups of level combinations over the trees of the dimensions."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    table: GroupTable

    @property
    def answers(self) -> Literal["boxes", "nodes"]:
        """Boxes are broken into nodes."""
        return "nodes"

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The nodes that answer a query, in every frame that can answer it."""
        known, boxes = split_known(query)
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        cells = [piece for share, box in boxes for piece in self._pieces(share, box)]
        frames = self.table.frames
        alternatives = (self._alternative(frame, cells, query.measure) for frame in frames)
        usable = tuple(alternative for alternative in alternatives if alternative is not None)
        return CellQuery(known, True, usable, query.weight)

    def _pieces(self, share: float, box: Box) -> Pieces:
        """(weights, cells) of a box, per level combination."""
        return [
            (np.full(len(cells.nodes), share), cells) for cells in cells_of(box, self.table.trees)
        ]

    def _alternative(self, frame: int, cells: Pieces, measure: int | None) -> Alternative | None:
        """One frame's nodes for the cells, or None if the frame does not collect them."""
        pieces: dict[int, list[tuple[Codes, Array]]] = {}
        for weights, piece in cells:
            found = self.table.serving(frame, piece.levels, measure)
            if found is None:
                return None
            pieces.setdefault(found, []).append(self._signed(found, piece.nodes, weights, measure))
        return tuple(
            GroupCells(
                group,
                np.concatenate([nodes for nodes, _ in parts]),
                np.concatenate([weights for _, weights in parts]),
            )
            for group, parts in sorted(pieces.items())
        )

    def _signed(
        self, group: int, nodes: Codes, weights: Array, measure: int | None
    ) -> tuple[Codes, Array]:
        """Nodes with their weights: for a sum the measure's bounds on the two signs."""
        if self.table.groups[group].sign is None:
            return nodes, weights
        half = self.table.sizes[group] // 2
        low, high = (1.0, 1.0) if measure is None else self.domain.bounds[measure]
        both = np.concatenate([nodes, nodes + half])
        return both, np.concatenate([low * weights, high * weights])

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each group used, for EXPLAIN."""
        lines = known_lines(planned.known)
        for alternative in planned.alternatives:
            for cells in alternative:
                lines.append(f"{self.describe_group(cells.group)}: {_listed(cells.nodes)}")
        return lines

    def describe_group(self, number: int) -> str:
        """A group in words: its levels, sign, nodes."""
        group = self.table.groups[number]
        levels = ", ".join(
            f"{name} level {level}"
            for name, level in zip(self.domain.names, group.levels, strict=True)
        )
        sign = "" if group.sign is None else f", sign of {self.domain.measure_names[group.sign]}"
        return f"group {number} ({levels}{sign}; {self._nodes_of(number)})"

    def _nodes_of(self, number: int) -> str:
        return f"{self.table.sizes[number]} nodes"

    @cached_property
    def shares(self) -> Array:
        """Probability of each group."""
        return np.array([group.weight / SPACE for group in self.table.groups])

    def _fanouts(self) -> Mapping[str, Any]:
        trees = [tree for tree in self.table.trees if isinstance(tree, Tree)]
        if len(trees) < len(self.table.trees) or not trees:
            return {}
        return {"fanouts": [list(tree.fanouts) for tree in trees]}


def _listed(nodes: Codes) -> str:
    """Node numbers in ascending order, each once, runs written as first..last."""
    nodes = np.unique(nodes)
    runs: list[str] = []
    breaks = np.flatnonzero(np.diff(nodes) != 1) + 1
    for run in np.split(nodes, breaks):
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}")
    shown = ", ".join(runs[:12])
    more = f", ... ({len(runs) - 12} more runs)" if len(runs) > 12 else ""
    return f"nodes {shown}{more}"
