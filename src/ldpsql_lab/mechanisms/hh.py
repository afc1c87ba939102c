"""HH: hierarchical histograms of one dimension by OUE or HRR.

Source: Cormode, Kulkarni, Srivastava, VLDB 2019; docs/spec/h4mda.md#2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ldpsql.mechanisms.hierarchical.recipe import (
    ONE_DIMENSION,
    AllocatedOptions,
    Hierarchical,
    collect_embedded,
)


@dataclass(frozen=True)
class HhOptions(AllocatedOptions):
    """Options of hh."""

    oracle: Literal["oue", "hrr"] = "oue"


HH = Hierarchical("hh", collect_embedded, HhOptions, ONE_DIMENSION)
