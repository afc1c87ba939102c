"""Public. Sees parameters. What the frequency oracles have in common.

An oracle lets a person whose value lies at one node of K send a report that *supports* each node
or does not. All that estimation needs are four probabilities:

    p            the person's own node is supported
    q            another node is supported
    joint_own    own node and another one are both supported
    joint_other  two other nodes are both supported

With s_k = 1 if node k is supported, (s_k - q) / (p - q) is an unbiased estimate of "the person
is at node k", and every variance below follows from the four numbers. `slots` are the groups of a
design that use the oracle; each has its own K.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Outcome
from ldpsql.report import Rows


@dataclass(frozen=True)
class Support:
    """The four support probabilities of one slot; see the module."""

    p: float
    q: float
    joint_own: float
    joint_other: float

    @property
    def node_variance(self) -> float:
        """Variance per report of one node's estimate where nobody is at the node (V0)."""
        return self.q * (1.0 - self.q) / (self.p - self.q) ** 2

    def contrast_variance(self, nodes: int) -> float:
        """Variance per report of a contrast of unit norm, for people spread over all nodes (V1).

        A contrast is a weighted sum of node frequencies whose weights add up to 0.
        """
        p, q, own, other = self.p, self.q, self.joint_own, self.joint_other
        return (q - other + (p - q - 2.0 * own + 2.0 * other) / nodes) / (p - q) ** 2

    def covariance(self, weights: Weights, mean: float, first: First, second: Array) -> Array:
        """Covariance per report of the estimates sum_k w_ik (s_k - q) / (p - q) * t_i.

        weights: totals of the node weights w.  mean: E[t_i t_j].  first: expectations linear in
        w.  second: E[t_i t_j w_i w_j] at the person's own node, shape (k, l).
        """
        p, q, own, other = self.p, self.q, self.joint_own, self.joint_other
        left, right = weights.left[:, None], weights.right[None, :]
        both = weights.both
        product = mean * (q * both + other * (left * right - both))
        product = product + second * (p - q - 2.0 * own + 2.0 * other)
        product = product + (own - other) * (first.left[:, None] * right + left * first.right)
        centred = (
            product
            - q * left * (p - q) * first.right[None, :]
            - q * right * (p - q) * first.left[:, None]
            - q * q * left * right * mean
        )
        return centred / (p - q) ** 2 - first.left_mean[:, None] * first.right_mean[None, :]


@dataclass(frozen=True)
class Weights:
    """Sums over the nodes of a slot: of w_i (k,), of w_j (l,), of w_i w_j (k, l)."""

    left: Array
    right: Array
    both: Array


@dataclass(frozen=True)
class First:
    """Expectations linear in the weights at the person's own node.

    left: E[t_i t_j w_i] (k,).  right: E[t_i t_j w_j] (l,).  left_mean: E[t_i w_i] (k,).
    right_mean: E[t_j w_j] (l,).
    """

    left: Array
    right: Array
    left_mean: Array
    right_mean: Array


class Oracle(Protocol):
    """A frequency oracle over several slots."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the report columns it fills."""
        ...

    def limits(self, slot: int) -> tuple[int, ...]:
        """Exclusive upper limits of its columns."""
        ...

    def support(self, slot: int) -> Support:
        """The support probabilities of a slot."""
        ...

    def respond(
        self, slots: NDArray[np.int64], nodes: Codes, entropy: Entropy
    ) -> list[NDArray[np.int64]]:
        """Device. One report per person: its columns, each of shape (n,)."""
        ...

    def law(self, slot: int, node: int) -> Iterator[tuple[Outcome, Fraction]]:
        """Every report a person at the node can send, with its exact probability."""
        ...

    def odds(self, slot: int) -> Fraction | None:
        """Exact worst odds of a report under two nodes of the slot; None if unbounded."""
        ...

    def supporters(self, slot: int, rows: Rows, nodes: Codes, folds: Sequence[Array]) -> Array:
        """Sums of each fold over the reports that support each node, shape (folds, nodes)."""
        ...
