"""The promise of a design in words: what is covered, and what is not."""

from __future__ import annotations

from dataclasses import dataclass

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee

PUBLIC_IN_CLEAR = "public columns travel in clear"


@dataclass(frozen=True)
class StatedGuarantee(Guarantee):
    """A guarantee, and what it means.

    protects: what is covered.  not_protected: what is not.  witness: where nothing is promised, two
    records and a report that one of them can send and the other never; else empty.
    """

    protects: str = "nothing"
    not_protected: tuple[str, ...] = ()
    witness: str = ""


def local_guarantee(epsilon: Epsilon) -> StatedGuarantee:
    """The promise of a mechanism that is epsilon-LDP for the whole private record."""
    return StatedGuarantee(
        "local",
        epsilon,
        protects="every private attribute of one person's report together: no report is more than "
        f"e^{epsilon} times likelier under one record than under another",
        not_protected=(
            PUBLIC_IN_CLEAR,
            "that a person took part, when, and from which address, is visible",
            "a person who answers several surveys loses the sum of their epsilons",
        ),
    )
