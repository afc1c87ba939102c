"""The Fourier response made ready for a record domain, as the collector uses it.

A device draws a family, and reports its phase there by a subset response of exactly e^epsilon;
everything about the families is in the plan. See docs/fourier.md and docs/spec/fourier.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.decoders.base import Design, Estimators
from ldpsql.decoders.fourier.contributions import (
    Reported,
    SharedContributions,
    even_variances,
)
from ldpsql.decoders.fourier.estimator import FourierEstimator
from ldpsql.decoders.fourier.families import FamilyTable
from ldpsql.decoders.fourier.group import Group
from ldpsql.decoders.fourier.information import Collected, RealCells
from ldpsql.decoders.fourier.queries import BoxQuery, box_terms
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimate import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.plan import WORDS, Plan, plan_to_json

if TYPE_CHECKING:
    from ldpsql.decoders.fourier.smoothing import SmoothEstimator

NO_ENERGY = 1e-20


@dataclass(frozen=True, eq=False)
class FourierDesign(Design[BoxQuery]):
    """The families of a plan over the group of a record domain.

    workload: that it was designed for; smoothing weighs errors by it.  restricted: whether answers
    are least squares over the cells that exist.  SurveyError unless every question is a family.
    """

    domain: RecordDomain
    epsilon: Epsilon
    workload: Workload
    group: Group
    plan: Plan
    restricted: bool = False
    table: FamilyTable = field(init=False)
    name: str = "fourier"

    def __post_init__(self) -> None:
        if self.restricted:
            RealCells(self.group)
        if self.plan.odds != (int(self.epsilon.odds * WORDS),):
            raise SurveyError("the odds of the plan are not those of its epsilon")
        object.__setattr__(self, "table", FamilyTable.of_plan(self.plan, self.group))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FourierDesign) and (
            (self.domain, self.epsilon, self.to_json())
            == (other.domain, other.epsilon, other.to_json())
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def odds(self) -> float:
        """E, as the plan has it."""
        return self.plan.odds[0] / WORDS

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; the family is drawn without looking at it."""
        return local_guarantee(self.epsilon)

    @property
    def is_coarse(self) -> bool:
        """Whether some dimension is collected in bins of several codes."""
        return any(self.group.width(axis) > 1 for axis in range(self.group.dimensions))

    @property
    def spectral_information(self) -> tuple[Group, Mapping[tuple[int, ...], Array]]:
        """See `Design`: lambda_f, the eigenvalues of the information of a report."""
        return self.group, self.collected.information

    @property
    def remarks(self) -> tuple[str, ...]:
        """Coarse and widened dimensions, and how many a query may constrain."""
        group = self.group
        wide = tuple(
            f"{name} lies on a circle of {group.orders[axis]} places, more than its "
            f"{group.bins[axis]}, so that questions with one end cost less (option one_sided)"
            for axis, name in enumerate(self.domain.names)
            if self.restricted and group.orders[axis] > group.bins[axis]
        )
        coarse = wide + tuple(
            f"{name} is collected in {group.bins[axis]} bins of {group.width(axis)} codes; a range "
            "that ends inside a bin counts its people as spread evenly, which no error bar shows"
            for axis, name in enumerate(self.domain.names)
            if group.width(axis) > 1
        )
        most = max(sum(axis < group.dimensions for axis in block) for block in group.blocks)
        if most >= len(self.domain.names):
            return coarse
        limit = f"a query may constrain at most {most} of the {len(self.domain.names)} dimensions"
        return (*coarse, f"{limit}, grouping included ([workload] max_predicates)")

    # -- questions ----------------------------------------------------------------------------

    def prepare(self, query: LinearQuery) -> BoxQuery:
        """The boxes that are not everything. UnsupportedSQL for what is not collected."""
        boxes = [(share, box) for share, box in query.terms if not box.is_empty]
        level, contrast, known = 1.0, 0.0, 0.0
        if query.measure is None:
            known = sum(share for share, box in boxes if box.is_whole)
            boxes = [(share, box) for share, box in boxes if not box.is_whole]
        else:
            low, high = self.domain.bounds[query.measure]
            level, contrast = (high + low) / 2.0, (high - low) / 2.0
        terms = box_terms((share, box.sides) for share, box in boxes)
        planned = BoxQuery(known, terms, query.measure, level, contrast, query.weight)
        sign = () if query.measure is None else (self.group.dimensions + query.measure,)
        for term in terms:
            if self.group.block_of((*term.axes, *sign)) is None:
                raise self._unsupported(term.axes, query.measure)
        # Refuse what touches a frequency that no report informs.
        for face, piece in planned.spectrum(self.group).items():
            known_there = self.collected.information.get(face)
            asked = np.abs(piece) ** 2 > NO_ENERGY
            if known_there is None or (asked & (known_there <= 0.0)).any():
                dimensions = [axis for axis in face if axis < self.group.dimensions]
                raise self._unsupported(dimensions, query.measure)
        return planned

    def _unsupported(self, axes: Sequence[int], measure: int | None) -> UnsupportedSQL:
        names = [self.domain.names[axis] for axis in axes]
        asked = " and ".join(names) or "everybody"
        if measure is not None:
            asked = f"{self.domain.measure_names[measure]} by {asked}"
        needed = f"whose queries ask about {asked}"
        if names:
            needed = f"whose max_predicates is at least {len(names)}, or {needed}"
        return UnsupportedSQL(
            f"this survey was not designed for questions about {asked}",
            hint=f"design it with a [workload] {needed}",
        )

    def describe(self, planned: BoxQuery) -> list[str]:
        """For EXPLAIN: the tables used, and the side lengths of every box."""
        lines = [f"known exactly: {planned.known:g} x all reports"] if planned.known else []
        for term in planned.terms:
            names = " x ".join(self.domain.names[axis] for axis in term.axes) or "everybody"
            shape = " x ".join(map(str, (self.group.bins[axis] for axis in term.axes)))
            lengths = " x ".join(
                f"{self.group.bin_weights(side, axis).sum():g}"
                for side, axis in zip(term.sides, term.axes, strict=True)
            )
            sizes = f" of {shape} cells, box of {lengths}" if term.axes else ""
            lines.append(f"table {names}{sizes}")
        used = sorted({axis for term in planned.terms for axis in term.axes})
        lines += [
            f"{self.domain.names[axis]} in bins of {self.group.width(axis)} codes, inside which "
            "people count as spread evenly"
            for axis in used
            if self.group.width(axis) > 1
        ]
        if planned.measure is not None and planned.terms:
            lines.append(f"with the sign of {self.domain.measure_names[planned.measure]}")
        return lines

    # -- answers ------------------------------------------------------------------------------

    @cached_property
    def collected(self) -> Collected:
        """The table as the collector uses it."""
        return Collected(self.group, self.table, self.odds, self.restricted)

    @cached_property
    def _shared(self) -> SharedContributions:
        return SharedContributions(self.collected)

    def estimator(self, histogram: Histogram) -> FourierEstimator:
        """Collector. Unbiased."""
        return FourierEstimator(self.collected, Reported(histogram), self._shared)

    @property
    def estimators(self) -> Estimators[BoxQuery]:
        """Unbiased, and post-processed to non-negative tables."""
        return {"unbiased": self.estimator, "smooth": self.smooth}

    def smooth(self, histogram: Histogram) -> SmoothEstimator:
        """Collector. Biased, with a smaller typical error; see docs/fourier.md."""
        # Only smoothing needs scipy.fft, which takes a quarter of a second to import.
        from ldpsql.decoders.fourier.smoothing import SmoothEstimator  # noqa: PLC0415

        return SmoothEstimator(self.estimator(histogram), self.workload)

    def variance(self, queries: Sequence[BoxQuery], people: int) -> Array:
        """Predicted variance, shape (k,), if records are spread evenly: over the group, or over
        the cells that exist where answers are restricted to them."""
        if self.restricted:
            return people * even_variances(self.collected, queries)
        spectra = [query.spectrum(self.group) for query in queries]
        return np.array([people * self.collected.covariance(own, own) for own in spectra])

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` needs besides domain and epsilon."""
        return {
            **({"restricted": True} if self.restricted else {}),
            "orders": list(self.group.orders),
            "bins": list(self.group.bins),
            "workload": self.workload.to_json(),
            "blocks": [list(block) for block in self.group.blocks],
            "plan": plan_to_json(self.plan),
        }
