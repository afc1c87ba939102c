"""HH: hierarchical histograms of one dimension by OUE or HRR.

Source: Cormode, Kulkarni, Srivastava, VLDB 2019; docs/spec/h4mda.md#4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ldpsql.mechanisms.hierarchical import recipe


@dataclass(frozen=True)
class HhOptions(recipe.AllocatedOptions):
    """Options of hh."""

    oracle: Literal["oue", "hrr"] = "oue"


HH = recipe.Hierarchical("hh", recipe.collect_embedded, HhOptions, recipe.ONE_DIMENSION)
