"""A mechanism like flat randomized response that states its blankets, truly or not."""

from __future__ import annotations

from fractions import Fraction

from support.partial_designs import PartialRecipe

from ldpsql.audit.exact import enumerate_blankets
from ldpsql.mechanisms.hierarchical.recipe import GRR
from ldpsql.reports.channel import enumerate_law
from ldpsql.shuffle.accountant import Blanket, largest_local
from ldpsql_device.epsilon import Epsilon


class StatingDesign:
    """Another design, which states blankets besides."""

    def __init__(self, design, blankets) -> None:
        self._design = design
        self._blankets = blankets

    def __getattr__(self, name):
        return getattr(self._design, name)

    def blankets(self):
        return self._blankets


class StatingGrr(PartialRecipe):
    """The blankets of the enumerated channel."""

    name = "grr"

    def make(self, task):
        design = GRR.design(task.domain, task.epsilon, {})
        return StatingDesign(design, enumerate_blankets(enumerate_law(design.plan)))


class LyingGrr(StatingGrr):
    """The blankets of a channel that tells nothing."""

    def make(self, task):
        one = Fraction(1)
        made = GRR.design(task.domain, task.epsilon, {})
        return StatingDesign(made, (Blanket(((one, one, one),)),))


class ShufflingGrr(StatingGrr):
    """Chooses its local epsilon itself, and a tenth of what it may."""

    calibrates = True

    def calibrate(self, task, central):
        found = largest_local(lambda e: self.design(task.domain, e, {}).blankets(), central)
        return self.design(task.domain, Epsilon(found.value / 10), {})
