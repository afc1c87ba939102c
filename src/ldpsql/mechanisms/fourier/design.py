"""The Fourier response made ready for a record domain, and its unbiased answers.

See docs/fourier.md; source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#4 and
docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import Workload
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import MANY_SETS, Decoding, Design, Estimators, SetChooser
from ldpsql.estimators.linear import describe_known, split_known
from ldpsql.mechanisms.fourier.contributions import (
    SharedContributions,
    bare,
    even_variances,
    face_name,
    sum_spectra,
)
from ldpsql.mechanisms.fourier.estimator import FourierEstimator, move_most
from ldpsql.mechanisms.fourier.families import FamilyTable
from ldpsql.mechanisms.fourier.group import Axes, Group, Spectral
from ldpsql.mechanisms.fourier.spectra import (
    BoxQuery,
    Collected,
    RealCells,
    demand,
    make_box_terms,
    mean_power,
)
from ldpsql.mechanisms.fourier.translates import Translate
from ldpsql.reports.report import TYPES, Decoded, Histogram, Histograms, ReportFormat
from ldpsql.reports.survey_file import plan_to_json
from ldpsql.wording.guarantees import StatedGuarantee, local_guarantee
from ldpsql.wording.numbers import significant
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import WORDS, Plan

if TYPE_CHECKING:
    from ldpsql.mechanisms.fourier.smoothing import SmoothEstimator

_ROUNDING = 1e-10
"""Of a query's largest coefficient: smaller ones of a spectrum are of rounding."""
_PATTERNS = 256
DECODING = 4
"""Version of what reports are decoded to, and of what is derived from a design."""
MOST_KEPT = 1 << 22
"""Numbers of decoded reports up to which they are kept; of more, reports are decoded anew."""
SEVERAL, MOST_DECODED = 4, 1 << 25
"""Histograms, and phases of families of all of them together (about two seconds), that are decoded
before anything else is tried."""


@dataclass(frozen=True)
class Forms:
    """Two plans for one workload, one of which a design has.

    listed, product: bytes, compressed; of product form None where there is none for so many
    questions or cells.  error: expected error of product form over the listed one's.  worst: the
    same of the class of queries that loses most, where that decided against product form.
    """

    listed: int
    product: int | None = None
    error: float = 1.0
    worst: float | None = None

    def describe(self, questions: int, *, is_product: bool) -> str:
        """In words, for a design of so many questions in one of the forms."""
        listed = f"{self.listed / 1e3:.1f} kB"
        if self.product is None:
            return (
                f"its questions are listed one by one, {listed} compressed: product form would "
                "have too many, or takes too long to find"
            )
        product = f"{self.product / 1e3:.1f} kB"
        error = _compare(self.error)
        if is_product:
            return (
                f"its {questions} questions are in product form, {product} compressed: one by one "
                f"they would take {listed}, and product form has {error}"
            )
        if self.worst is not None:
            error += f", but {_compare(self.worst)} for one class of queries"
        return (
            f"its questions are listed one by one, {listed} compressed: in product form they would "
            f"take {product}, and have {error}"
        )


def _compare(error: float) -> str:
    """The ratio of an expected error to another one in words."""
    share = significant(abs(100.0 * (error - 1.0)))
    return f"{share} % {'more' if error >= 1.0 else 'less'} expected error"


@dataclass(frozen=True)
class FourierDesign(Design[BoxQuery], Spectral, SetChooser):
    """The families of a plan over the group of a record domain.

    A device draws a family, and reports its phase there by a subset response of exactly e^epsilon.
    workload: that it was designed for; smoothing weighs errors by it.  restricted: whether answers
    are least squares over the cells that exist.  forms: how else it could have been written, if
    that was tried.  SurveyError unless every question is a family, or in product form.
    """

    domain: RecordDomain
    epsilon: Epsilon
    workload: Workload
    group: Group
    plan: Plan
    restricted: bool = False
    forms: Forms | None = field(default=None, compare=False)
    table: FamilyTable = field(init=False, compare=False)
    name: str = "fourier"

    def __post_init__(self) -> None:
        if self.restricted:
            RealCells(self.group)
        if self.plan.odds != (int(self.epsilon.odds * WORDS),):
            raise SurveyError("the odds of the plan are not those of its epsilon")
        object.__setattr__(self, "table", FamilyTable.of_plan(self.plan, self.group))
        if self.restricted and self.table.products:
            raise SurveyError("a restricted design has no questions in product form")

    @property
    def guarantee(self) -> StatedGuarantee:
        """Epsilon-LDP for the whole private record; the family is drawn without looking at it."""
        return local_guarantee(self.epsilon)

    @property
    def spectral_information(self) -> Mapping[Axes, Array]:
        """The eigenvalues of the information of a report."""
        return self.collected.information

    @property
    def remarks(self) -> tuple[str, ...]:
        """Coarse and widened dimensions, and how many a query may constrain."""
        group = self.group
        remarks = [
            f"{name} lies on a circle of {group.orders[axis]} places, more than its "
            f"{group.bins[axis]}, so that questions with one end cost less (option one_sided)"
            for axis, name in enumerate(self.domain.names)
            if self.restricted and group.orders[axis] > group.bins[axis]
        ]
        remarks += [
            f"{name} is collected in {group.bins[axis]} bins of {group.width(axis)} codes; a range "
            "that ends inside a bin counts its people as spread evenly; error bars hold what that "
            "may be off by, predicted errors do not"
            for axis, name in enumerate(self.domain.names)
            if group.width(axis) > 1
        ]
        dimensions = self.domain.first_level_axis
        most = max(sum(axis < dimensions for axis in block) for block in group.blocks)
        if most < dimensions:
            remarks.append(
                f"a query may constrain at most {most} of the {dimensions} dimensions, "
                "grouping included ([workload] max_predicates)"
            )
        if self._decoded_numbers > MOST_KEPT:
            remarks.append(
                f"decoded, its reports would be {self._decoded_numbers / 1e6:.1f} million numbers; "
                f"a store keeps at most {MOST_KEPT / 1e6:.1f} million, so every question reads all "
                "reports, and one with many groups, or smooth, may take minutes: fewer codes "
                "([workload] of declared queries, or bins), measures or max_predicates avoid that"
            )
        if self.forms:
            is_product = bool(self.table.products)
            remarks.append(self.forms.describe(self.plan.questions, is_product=is_product))
        return tuple(remarks)

    # -- questions ----------------------------------------------------------------------------

    def prepare(self, query: LinearQuery) -> BoxQuery:
        """The boxes that are not everything. UnsupportedSQL for what is not collected."""
        planned = self._plan(query)
        # The energies of a query are those of all that it is moved to.
        (pattern,) = Translate.of([bare(planned)], self.group).pattern
        face = self._find_uninformed(pattern)
        if face is not None:
            raise self._find_unsupported(self._dimensions(face), query.measure)
        return planned

    @cached_property
    def _find_uninformed(self) -> Callable[[BoxQuery], Axes | None]:
        """Finds where a query touches a frequency that no report informs."""

        @lru_cache(_PATTERNS)
        def find(query: BoxQuery) -> Axes | None:
            largest = max((abs(term.coefficient) for term in query.terms), default=0.0)
            least = _ROUNDING * largest * max(abs(query.level), abs(query.contrast))
            spectrum = query.spectrum(self.group).items()
            return self.collected.find_untold((face, np.abs(own) > least) for face, own in spectrum)

        return find

    def _plan(self, query: LinearQuery) -> BoxQuery:
        """The boxes that are not everything, all within a block."""
        known, boxes = split_known(query)
        level, contrast = 1.0, 0.0
        if query.measure is not None:
            low, high = self.domain.bounds[query.measure]
            level, contrast = (high + low) / 2.0, (high - low) / 2.0
        terms = make_box_terms((share, box.sides) for share, box in boxes)
        planned = BoxQuery(known, terms, query.measure, level, contrast, query.weight)
        sign = () if query.measure is None else (self.group.dimensions + query.measure,)
        for term in terms:
            if self.group.block_of((*term.axes, *sign)) is None:
                raise self._find_unsupported(term.axes, query.measure)
        return planned

    def _dimensions(self, face: Axes) -> list[int]:
        return [axis for axis in face if axis < self.group.dimensions]

    def find_missing(self) -> tuple[int, ...] | None:
        """Dimensions of which the workload asks something that no report tells; None where every
        query of the workload is answered."""
        needed = demand(self.workload, self.group).items()
        face = self.collected.find_untold((face, own > 0.0) for face, own in needed)
        return None if face is None else tuple(self._dimensions(face))

    def _find_unsupported(self, axes: Sequence[int], measure: int | None) -> UnsupportedSQL:
        names = [self.domain.names[axis] for axis in axes]
        asked = " and ".join(names) or "everybody"
        if measure is not None:
            asked = f"{self.domain.measure_names[measure]} by {asked}"
        needed = f"whose queries ask about {asked}"
        # Whether there is a value is asked beside a sum by queries alone.
        levels = sum(axis >= self.domain.first_level_axis for axis in axes)
        if names and levels + (measure is not None and levels > 0) < 2:
            needed = f"whose max_predicates is at least {len(names)}, or {needed}"
        return UnsupportedSQL(
            f"this survey was not designed for questions about {asked}",
            hint=f"design it with a [workload] {needed}",
        )

    def describe(self, planned: BoxQuery) -> list[str]:
        """For EXPLAIN: the tables used, and the side lengths of every box."""
        lines = describe_known(planned.known)
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
        odds = int(self.epsilon.odds * WORDS) / WORDS  # those of the plan
        return Collected(self.group, self.table, odds, self.restricted)

    @cached_property
    def _shared(self) -> SharedContributions:
        return SharedContributions(self.collected)

    @property
    def decoding(self) -> Decoding | None:
        """People by question, and the sums B(f) of every face, unless there are too many."""
        if self._decoded_numbers > MOST_KEPT:
            return None
        form = (DECODING, self._decoded_numbers, self._count_entries)
        return Decoding(*form, self._decode, self._derive, self._recall)

    @cached_property
    def _decoded_numbers(self) -> int:
        """How many numbers reports decode to."""
        return self.table.questions + 2 * sum(self.group.cells(face) for face in self.group.faces)

    def _count_entries(self) -> int:
        """The people by question, and two numbers per frequency that is asked."""
        frequencies = sum(known.size for known in self.collected.information.values())
        return self.table.questions + 2 * frequencies

    def _decode(self, histograms: Sequence[Histogram]) -> Iterator[Mapping[str, Array]]:
        """People by question, and sums by frequency, real and imaginary parts by turns."""
        step = MOST_KEPT // self._decoded_numbers  # as many as fill the numbers of the largest
        for first in range(0, len(histograms), step):
            some = histograms[first : first + step]
            every = sum_spectra(self.collected, [own.load_all() for own in some], (None, None))
            for histogram, sums in zip(some, every, strict=True):
                named = {face_name(face): own.ravel() for face, own in sums.items()}
                arrays = {name: own.view(np.float64) for name, own in named.items()}
                yield {TYPES: histogram.sizes.astype(np.float64), **arrays}

    def _derive(self) -> Mapping[str, Array]:
        """How much a report tells about every frequency, and the families."""
        known = self.collected.information
        told = {face_name(face): np.asarray(known[face]).ravel() for face in known}
        return told | self.table.pack()

    def _recall(self, derived: Mapping[str, Array]) -> None:
        collected = self.collected
        faces = [face for face in ((), *self.group.faces) if face_name(face) in derived]
        collected.recall(
            {face: derived[face_name(face)].reshape(collected.face_shape(face)) for face in faces}
        )

    def estimator(self, histogram: Histogram | Decoded) -> FourierEstimator:
        """Unbiased."""
        return FourierEstimator(self.collected, histogram, self._shared)

    @property
    def estimators(self) -> Estimators[BoxQuery]:
        """Unbiased, and post-processed to non-negative tables."""
        return {"unbiased": self.estimator, "smooth": self.smooth}

    def answer_sets(
        self, estimator: str, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]
    ) -> tuple[Array, Array] | None:
        """From what reports contribute to all queries together."""
        if estimator != "unbiased":
            return None
        from ldpsql.mechanisms.fourier.grouped import answer_sets  # noqa: PLC0415

        return answer_sets(self._shared, histograms, rows)

    def prefers_sets(self, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]) -> bool:
        """Also of several histograms, and of one that takes long to decode, where contributions to
        the rows are fewer numbers than all phases of all of them."""
        if len(histograms) >= MANY_SETS:
            return True
        decoded = len(histograms) * int(self.table.phases.sum())
        is_quick = len(histograms) < SEVERAL and decoded < MOST_DECODED
        if is_quick or self.table.products:
            return False
        from ldpsql.mechanisms.fourier.grouped import count_work  # noqa: PLC0415

        return count_work(self._shared, rows, histograms) <= decoded

    def smooth(self, histogram: Histogram | Decoded) -> SmoothEstimator:
        """Biased, with a smaller typical error."""
        # Only smoothing needs scipy.fft, which takes a quarter of a second to import.
        from ldpsql.mechanisms.fourier.smoothing import SmoothEstimator  # noqa: PLC0415

        return SmoothEstimator(self.estimator(histogram), self.workload)

    def variance(self, queries: Sequence[BoxQuery], people: int) -> Array:
        """Predicted variance, shape (k,), if records are spread evenly: over the group, or over
        the cells that exist where answers are restricted to them."""
        if self.restricted:
            return people * even_variances(self._shared, queries)
        spectra = [query.spectrum(self.group) for query in queries]
        return np.array([people * self.collected.covariance(own, own) for own in spectra])

    def influence(self, queries: Sequence[BoxQuery], slopes: Array, people: int) -> Array:
        """The extremes over the answers of all families."""
        return move_most(self._shared, queries, slopes)

    def expected_variances(
        self, samples: Sequence[Sequence[LinearQuery]], people: int
    ) -> list[float]:
        """From the mean spectrum of all queries of a sample at once."""
        if self.restricted:
            return super().expected_variances(samples, people)
        variances = []
        for queries in samples:
            planned = [(1.0 / len(queries), self._plan(query)) for query in queries]
            power = mean_power(planned, self.group)
            variances.append(people * self.collected.second_moment(power.items()))
        return variances

    def compare(self, forms: Forms) -> FourierDesign:
        """The same design, which knows how else it could have been written, and keeps all that was
        worked out of its plan."""
        made = copy(self)
        object.__setattr__(made, "forms", forms)
        return made

    def reuse(self, other: FourierDesign) -> None:
        """Take over how much reports tell about every frequency."""
        self.collected.recall(other.collected.information)

    def to_json(self) -> Mapping[str, Any]:
        """All that `restore` needs besides domain and epsilon."""
        return {
            **({"restricted": True} if self.restricted else {}),
            "orders": list(self.group.orders),
            "bins": list(self.group.bins),
            "workload": self.workload.to_json(),
            "blocks": [list(block) for block in self.group.blocks],
            "plan": plan_to_json(self.plan),
        }


class KeptDesign(FourierDesign):
    """A design of which the families were read and checked before, and were kept.

    A plan of listed families takes most of the time that a question has. Here it is read, with all
    its checks, by whoever asks for it, which no question that decoded sums answer does.
    """

    def __init__(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        workload: Workload,
        group: Group,
        restricted: bool,
        table: FamilyTable,
        derived: Mapping[str, Array],
        read_plan: Callable[[], Plan],
    ) -> None:
        """table, derived: what `_derive` made of the same design.  read_plan: SurveyError for one
        that cannot be used."""
        vars(self).update(
            domain=domain,
            epsilon=epsilon,
            workload=workload,
            group=group,
            table=table,
            restricted=restricted,
            forms=None,
            _read_plan=read_plan,
        )
        self._recall(derived)

    @cached_property
    def plan(self) -> Plan:
        """The plan of devices, read when it is first asked for."""
        read: Callable[[], Plan] = vars(self)["_read_plan"]
        return read()

    @cached_property
    def question_shares(self) -> Array:
        """Of the families."""
        return self.table.shares

    @property
    def decoding(self) -> Decoding | None:
        """As of the design that it was made from, but all is known."""
        decoding = super().decoding
        return decoding and replace(decoding, recall=None)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The number of a family, and a phase of it."""
        return ReportFormat(("question", "answer0"), self.table.phases[:, None])
