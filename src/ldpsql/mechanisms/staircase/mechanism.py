"""Public. Sees parameters. The mechanism `staircase`: designs, and their restoration from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpsql.mechanisms.cells.query import check_cells, shape_of
from ldpsql.mechanisms.cells.words import ALL_WORDS, Patterns
from ldpsql.mechanisms.options import take, whole
from ldpsql.mechanisms.staircase.demand import cell_gram, raised
from ldpsql.mechanisms.staircase.design import StaircaseDesign
from ldpsql.mechanisms.staircase.optimise import optimal
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

MOST_CELLS = 256
FAST_CELLS = 48
_MOST_REPORTS = 1 << 14
_SPARE = 1e-12


class Staircase(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures, over small domains."""

    can_be_reserved = True
    name = "staircase"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> StaircaseDesign:
        """The patterns that answer the workload best; SurveyError beyond MOST_CELLS cells."""
        take(options, {}, self.name)
        check_cells(domain, MOST_CELLS, self.name)
        asked = workload or Workload.everyday(domain)
        if math.prod(shape_of(domain)) == 1:
            # A single cell tells nothing; its report is a coin's.
            return _made(domain, epsilon, asked, np.zeros((2, 1), dtype=bool), np.full(2, 0.5))
        found = optimal(raised(cell_gram(asked)), float(epsilon.odds))
        return _made(domain, epsilon, asked, found.patterns, found.weights)

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> StaircaseDesign:
        """From a survey's JSON; the channel is made and checked anew."""
        check_cells(domain, MOST_CELLS, self.name)
        cells = math.prod(shape_of(domain))
        weights = tuple(map(whole, data["weights"]))
        if not 0 < len(weights) <= _MOST_REPORTS or len(data["patterns"]) != len(weights):
            raise SurveyError("the design has not one pattern per weight")
        patterns = np.concatenate([_pattern(text, cells) for text in data["patterns"]])
        workload = Workload.from_json(domain, data["workload"])
        return StaircaseDesign(domain, epsilon, workload, patterns, weights)

    def reserved(self, domain: RecordDomain) -> str | None:
        """Left out of `auto` where its design is slow."""
        cells = math.prod(shape_of(domain))
        if not FAST_CELLS < cells <= MOST_CELLS:
            return None
        seconds = _seconds(cells)
        return f"its design takes about {seconds} s for {cells} combinations; ask for it by name"


def _seconds(cells: int) -> int:
    """How long a design takes, to one digit: measured 1.5 s for 64 cells, 55 s for 256."""
    seconds = 1.5 * math.pow(cells / 64, 2.6)
    return max(1, int(round(seconds, -math.floor(math.log10(seconds)))))


def _made(
    domain: RecordDomain, epsilon: Epsilon, workload: Workload, patterns: Patterns, theta: Any
) -> StaircaseDesign:
    """In whole numbers, a trifle smaller than theta so that no cell's words run over."""
    levels = 1.0 + (float(epsilon.odds) - 1.0) * patterns
    scale = ALL_WORDS * (1.0 - _SPARE) / (theta @ levels).max() if len(levels[0]) > 1 else ALL_WORDS
    weights = tuple(max(1, int(weight)) for weight in theta * scale)
    return StaircaseDesign(domain, epsilon, workload, patterns, weights)


def _pattern(text: Any, cells: int) -> Patterns:
    """One row of bits."""
    bits = np.frombuffer(bytes.fromhex(text), dtype=np.uint8)
    row = np.unpackbits(bits).astype(bool)
    if len(bits) != -(-cells // 8) or row[cells:].any():
        raise SurveyError("a pattern of the design does not fit the schema")
    return row[None, :cells]
