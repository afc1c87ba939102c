"""The Fourier response made ready for a record domain, and its unbiased answers.

See docs/fourier.md; source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#4 and
docs/spec/fourier.md#5.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsql import limits
from ldpsql.boxes import LinearQuery, Weight
from ldpsql.decoders.base import Decoding, Design, Estimator, Estimators
from ldpsql.decoders.fourier.contributions import (
    SecondMoments,
    SharedContributions,
    bare,
    even_variances,
    face_name,
    sum_spectra,
)
from ldpsql.decoders.fourier.families import FamilyTable
from ldpsql.decoders.fourier.group import Axes, Faces, Group, zero_parts
from ldpsql.decoders.fourier.spectra import (
    BoxQuery,
    Collected,
    RealCells,
    Spectrum,
    demand,
    make_box_terms,
    mean_power,
)
from ldpsql.decoders.fourier.translates import (
    LARGEST,
    Translate,
    TranslateSums,
    numbers,
    sum_translates,
)
from ldpsql.decoders.linear import PSEUDO_PEOPLE, describe_known, split_known
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimate import Array, Estimates
from ldpsql.record_domain import RecordDomain
from ldpsql.report import TYPES, Decoded, Histogram, Histograms, Pair, Rows
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.plan import WORDS, Plan
from ldpsql_device.publish import plan_to_json

if TYPE_CHECKING:
    from ldpsql.decoders.fourier.robust import BoundedContributions, RobustEstimator
    from ldpsql.decoders.fourier.smoothing import SmoothEstimator

_ROUNDING = 1e-10
"""Of a query's largest coefficient: smaller ones of a spectrum are of rounding."""
MANY = 4
"""Histograms for which contributions are worked out once, if not for too many cells."""
_AT_ONCE, _CELLS_AT_ONCE = 64, 1 << 22
_PATTERNS = 256
MOST_KEPT = 1 << 22
"""Numbers of decoded reports up to which they are kept; of more, reports are decoded anew."""
MOST_BOUNDED = 1 << 19
"""Phases of all families together up to which `robust` is offered, which looks at each of them a
few hundred times."""
MOST_DECODED = 1 << 25
"""Phases of families that are decoded, of all histograms together, before anything else is tried:
about two seconds."""
ALIKE, _ROWS_KEPT = 16, 8
"""Rows that are one row moved, from which all its translates are worked out; how many are kept."""


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
    return f"{abs(100.0 * (error - 1.0)):.1f} % {'more' if error >= 1.0 else 'less'} expected error"


@dataclass(frozen=True)
class FourierDesign(Design[BoxQuery]):
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
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; the family is drawn without looking at it."""
        return local_guarantee(self.epsilon)

    @property
    def is_coarse(self) -> bool:
        """Whether some dimension is collected in bins of several codes."""
        return self.group.is_coarse

    @property
    def spectral_information(self) -> tuple[Group, Mapping[tuple[int, ...], Array]]:
        """See `Design`: lambda_f, the eigenvalues of the information of a report."""
        return self.group, self.collected.information

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
        most = max(sum(axis < group.dimensions for axis in block) for block in group.blocks)
        if most < group.dimensions:
            remarks.append(
                f"a query may constrain at most {most} of the {group.dimensions} dimensions, "
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
            for face, piece in query.spectrum(self.group).items():
                known_there = self.collected.information.get(face)
                asked = np.abs(piece) > least
                if known_there is None or (asked & (known_there <= 0.0)).any():
                    return face
            return None

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
        for face, needed in demand(self.workload, self.group).items():
            known = self.collected.information.get(face)
            if needed.any() and (known is None or (known[needed > 0.0] <= 0.0).any()):
                return tuple(self._dimensions(face))
        return None

    def _find_unsupported(self, axes: Sequence[int], measure: int | None) -> UnsupportedSQL:
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
        return Collected(self.group, self.table, self.plan.odds[0] / WORDS, self.restricted)

    @cached_property
    def _shared(self) -> SharedContributions:
        return SharedContributions(self.collected)

    @property
    def decoding(self) -> Decoding | None:
        """People by question, and the sums B(f) of every face, unless there are too many."""
        if self._decoded_numbers > MOST_KEPT:
            return None
        return Decoding(3, self._decoded_numbers, self._decode, self._derive, self._recall)

    @cached_property
    def _decoded_numbers(self) -> int:
        """How many numbers reports decode to."""
        return self.plan.questions + 2 * sum(self.group.cells(face) for face in self.group.faces)

    def _decode(self, histogram: Histogram) -> Mapping[str, Array]:
        """See `Decoding`: real and imaginary parts by turns."""
        sums = sum_spectra(self.collected, histogram.load_all(), (None, None))
        arrays = {face_name(face): own.ravel().view(np.float64) for face, own in sums.items()}
        return {TYPES: histogram.sizes.astype(np.float64), **arrays}

    def _derive(self) -> Mapping[str, Array]:
        """See `Decoding`: what a report tells about every frequency."""
        known = self.collected.information
        return {face_name(face): np.asarray(known[face]).ravel() for face in known}

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
        """Unbiased, post-processed to non-negative tables, and where reports are few enough to look
        at each, unbiased with bounded contributions."""
        robust = {"robust": self.bound} if self.can_bound else {}
        return {"unbiased": self.estimator, "smooth": self.smooth, **robust}

    @property
    def can_bound(self) -> bool:
        """Whether all families are listed, and have no more than MOST_BOUNDED phases together."""
        table = self.table
        return not table.products and int(table.phases.sum()) <= MOST_BOUNDED

    @property
    def reads_reports(self) -> frozenset[str]:
        """See `Design`: bounded contributions are those to no spectrum."""
        return frozenset({"robust"})

    @cached_property
    def _bounded(self) -> BoundedContributions:
        from ldpsql.decoders.fourier.robust import BoundedContributions  # noqa: PLC0415  (a circle)

        return BoundedContributions(self.collected)

    def bound(self, histogram: Histogram) -> RobustEstimator:
        """Unbiased, and no report contributes much more than others do."""
        from ldpsql.decoders.fourier.robust import RobustEstimator  # noqa: PLC0415  (a circle)

        return RobustEstimator(self.collected, histogram, self._shared, bounded=self._bounded)

    def answer_sets(
        self, estimator: str, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]
    ) -> tuple[Array, Array] | None:
        """See `Design`."""
        if estimator != "unbiased":
            return None
        from ldpsql.decoders.fourier.grouped import answer_sets  # noqa: PLC0415

        return answer_sets(self._shared, histograms, rows)

    def prefers_sets(self, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]) -> bool:
        """See `Design`: also of few histograms, where each would take long to decode."""
        if super().prefers_sets(histograms, rows):
            return True
        decoded = len(histograms) * int(self.table.phases.sum())
        if decoded < MOST_DECODED or self.table.products:
            return False
        from ldpsql.decoders.fourier.grouped import count_contributions  # noqa: PLC0415

        asked = list(dict.fromkeys(bare(query) for row in rows for query in row))
        contributed = count_contributions(self._shared, asked) + len(histograms.counts)
        return len(asked) * contributed <= decoded

    def smooth(self, histogram: Histogram | Decoded) -> SmoothEstimator:
        """Biased, with a smaller typical error."""
        # Only smoothing needs scipy.fft, which takes a quarter of a second to import.
        from ldpsql.decoders.fourier.smoothing import SmoothEstimator  # noqa: PLC0415

        return SmoothEstimator(self.estimator(histogram), self.workload)

    def variance(self, queries: Sequence[BoxQuery], people: int) -> Array:
        """Predicted variance, shape (k,), if records are spread evenly: over the group, or over
        the cells that exist where answers are restricted to them."""
        if self.restricted:
            return people * even_variances(self._shared, queries)
        spectra = [query.spectrum(self.group) for query in queries]
        return np.array([people * self.collected.covariance(own, own) for own in spectra])

    def influence(self, queries: Sequence[BoxQuery], slopes: Array, people: int) -> Array:
        """See `Design`."""
        return move_most(self._shared, queries, slopes)

    def expected_variances(
        self, samples: Sequence[Sequence[LinearQuery]], people: int
    ) -> list[float]:
        """From the mean spectrum of all queries of a sample at once."""
        if self.restricted:
            return super().expected_variances(samples, people)
        return [self._expected_variance(queries, people) for queries in samples]

    def _expected_variance(self, queries: Sequence[LinearQuery], people: int) -> float:
        planned, total = [self._plan(query) for query in queries], 0.0
        for face, power in mean_power(
            [(1.0 / len(planned), q) for q in planned], self.group
        ).items():
            known = self.collected.information.get(face)
            asked = power > 0.0
            if known is None or (known[asked] <= 0.0).any():
                return float("inf")
            total += float((power[asked] / known[asked]).sum())
        return people * total

    def compare(self, forms: Forms) -> FourierDesign:
        """The same design, which knows how else it could have been written, and keeps all that was
        worked out of its plan."""
        made = copy(self)
        object.__setattr__(made, "forms", forms)
        return made

    def reuse(self, other: FourierDesign) -> None:
        """See `Design`: what reports tell."""
        self.collected.recall(other.collected.information)

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


def move_most(shared: SharedContributions, queries: Sequence[BoxQuery], slopes: Array) -> Array:
    """See `Estimator.influence`: what a report contributes depends on nobody else, and its extremes
    are those of the same row elsewhere."""
    known = slopes @ np.array([query.known for query in queries], dtype=float)
    asked = tuple(map(bare, queries))
    if not shared.collected.restricted:
        asked = tuple(map(bare, Translate.of(asked, shared.collected.group).pattern))
    return np.asarray(shared.ends(asked, tuple(map(tuple, slopes.tolist()))) + known)


@dataclass(eq=False)
class FourierEstimator(Estimator[BoxQuery]):
    """Unbiased answers from one histogram; remembers the spectra it has decoded.

    Decoding turns counts into the spectrum of the population, T^(f) = B(f) / lambda_f, and an
    answer is the sum of q^(f) conj(T^(f)) / N. The variance is that of the reports' contributions:
    for linear queries a and b the covariance is sum of C c_a c_b - T_a T_b / n, which includes all
    that is random, people as a sample among it. Of few reports that is too little (of a single one
    it is 0), so two people from an even spread are added, as for the other mechanisms.
    """

    collected: Collected
    histogram: Histogram | Decoded
    shared: SharedContributions
    _spectra: dict[frozenset[Weight | None], Spectrum] = field(default_factory=dict)
    _translates: OrderedDict[Any, TranslateSums] = field(default_factory=OrderedDict)

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.histogram.people

    @cached_property
    def _rows(self) -> Rows:
        """Family and phase of every row, by family, and what it counts."""
        assert isinstance(self.histogram, Histogram)
        return self.histogram.load_all()

    def answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """One joint answer per row of queries, with no covariance between rows.

        Variances hold how far people in a bin that a range cuts may be from spread evenly.
        """
        found = self._answer_spread(rows)
        if not self.people or not self.collected.group.is_coarse:
            return found
        return [self._hold_cuts(row, own) for row, own in zip(rows, found, strict=True)]

    def _hold_cuts(self, row: Sequence[BoxQuery], found: Estimates) -> Estimates:
        """With the expected square of what cut bins are off by in the variances.

        Of a bin with the sum S of which a range holds the part u of its codes, u S is counted. That
        is off by sqrt(u (1 - u)) S where everybody in a bin has one code, each as likely, and by
        less where they have several. Ranges that cut one bin are off together. The square of an
        estimated S is too large by its variance.
        """
        group = self.collected.group
        cuts = [(number, cut) for number, query in enumerate(row) for cut in query.cut_bins(group)]
        if not cuts:
            return found
        sums = self._answer_spread([[cut.part] for _, cut in cuts])
        off: dict[Any, Array] = {}
        for (number, cut), own in zip(cuts, sums, strict=True):
            square = float(own.values[0] ** 2 - own.covariance[0, 0])
            size = math.copysign(math.sqrt(max(square, 0.0)), own.values[0])
            by_code = off.setdefault(cut.people, np.zeros((len(row), cut.excess.size)))
            by_code[number] += size * cut.excess
        more = sum(each @ each.T / each.shape[1] for each in off.values())
        return replace(found, covariance=found.covariance + more)

    def _answer_spread(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """As if people were spread evenly within every bin."""
        answers: dict[int, Estimates] = {}
        alike: dict[Any, list[tuple[int, Translate]]] = {}
        if self.people and not self.collected.restricted:
            group = self.collected.group
            for number, row in enumerate(rows):
                if row:  # keys alone ask nothing
                    translate = Translate.of(row, group)
                    alike.setdefault(translate.row, []).append((number, translate))
        for members in alike.values():
            pattern = members[0][1]
            is_kept = pattern.row in self._translates
            if is_kept or (len(members) >= ALIKE and numbers(pattern, group) <= LARGEST):
                places = [number for number, _ in members]
                moved = [translate for _, translate in members]
                answers |= zip(
                    places, self._answer_moved(moved, [rows[n] for n in places]), strict=True
                )
        others = [number for number in range(len(rows)) if number not in answers]
        cells = max(map(self.collected.group.cells, self.collected.group.blocks))
        at_once = min(_AT_ONCE, max(1, _CELLS_AT_ONCE // cells))
        step = max(1, at_once // max(1, *map(len, rows), 1))
        for first in range(0, len(others), step):
            limits.check()
            part = others[first : first + step]
            answers |= zip(part, self._answer_rows([rows[n] for n in part]), strict=True)
        return [answers[number] for number in range(len(rows))]

    def _answer_moved(
        self, translates: Sequence[Translate], rows: Sequence[Sequence[BoxQuery]]
    ) -> list[Estimates]:
        """The answers to rows that are one row moved about."""
        sums, row = self._sum_translates(translates[0]), translates[0].pattern
        if translates[0].moved:
            places = tuple(np.array([each.bins for each in translates]).T)
            estimated, first, second = (
                own[places] for own in (sums.estimated, sums.first, sums.second)
            )
        else:
            every = (len(rows),)
            estimated, first, second = (
                np.broadcast_to(own, every + own.shape)
                for own in (sums.estimated, sums.first, sums.second)
            )
        even = self._covariance_of_even(row)
        spectra = [self.collected.spectrum(query) for query in row]
        whole = zero_parts(spectra)
        kinds = [query.weight for query in row]
        moments = self._moments.complete(kinds, whole[None, :], estimated, even, first, second)
        known = np.array([[self._sum_known(query) for query in row] for row in rows])
        covariance = self._centre(moments, estimated, even, row)
        return [Estimates(*each) for each in zip(known + estimated, covariance, strict=True)]

    def _sum_translates(self, translate: Translate) -> TranslateSums:
        """Of the last few rows they are kept."""
        kept = self._translates
        if translate.row not in kept:
            row = translate.pattern
            spectra = [self.collected.spectrum(query) for query in row]
            known = [self.spectrum(query.weight) for query in row]
            kept[translate.row] = sum_translates(
                row, translate.moved, spectra, known, self._moments
            )
            if len(kept) > _ROWS_KEPT:
                kept.popitem(last=False)
        kept.move_to_end(translate.row)
        return kept[translate.row]

    def _centre(
        self, moments: Array, estimated: Array, even: Array, row: Sequence[BoxQuery]
    ) -> Array:
        """Cov(T_a, T_b) = sum of C c_a c_b - T_a T_b / n, and people from an even spread."""
        centred = moments - estimated[..., :, None] * estimated[..., None, :] / self.people
        centred += PSEUDO_PEOPLE / self.people * even
        asked = np.array([bool(query.terms) for query in row])
        return np.asarray(np.where(np.outer(asked, asked), centred, 0.0))

    def _answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        if not self.people:
            infinite = [np.array([np.inf if query.terms else 0.0 for query in row]) for row in rows]
            pairs = zip(rows, infinite, strict=True)
            return [Estimates(self.values(row), np.diag(variances)) for row, variances in pairs]
        groups = [range(*ends) for ends in pairwise(accumulate(map(len, rows), initial=0))]
        queries = [query for row in rows for query in row]
        even = [self._covariance_of_even(row) for row in rows]
        estimated, moments = self._sum_rows(queries, groups) or self._decode(queries, groups, even)
        known, estimates = np.array([self._sum_known(query) for query in queries]), []
        for row, group, moment, own in zip(rows, groups, moments, even, strict=True):
            part = slice(group.start, group.stop)
            covariance = self._centre(moment, estimated[part], own, row)
            estimates.append(Estimates(known[part] + estimated[part], covariance))
        return estimates

    def influence(self, queries: Sequence[BoxQuery], slopes: Array) -> Array:
        """See `Estimator`."""
        return move_most(self.shared, queries, slopes)

    def values(self, queries: Sequence[BoxQuery]) -> Array:
        """The values (k,) alone: their covariance takes most of the time."""
        if not self.people:
            return np.array(
                [np.nan if query.terms else self._sum_known(query) for query in queries]
            )
        return np.array([self._sum_known(query) + self._estimate_rest(query) for query in queries])

    def _sum_known(self, query: BoxQuery) -> float:
        return query.known * self.histogram.total(query.weight) if query.known else 0.0

    def _estimate_rest(self, query: BoxQuery, spectrum: Spectrum | None = None) -> float:
        """The part of an answer that is not known: sum over f of q^(f) conj(T^(f)) / N."""
        asked, known = spectrum or self.collected.spectrum(query), self.spectrum(query.weight)
        pairs = ((known[face], own) for face, own in asked.items() if face in known)
        return sum(float(np.vdot(table, own).real) for table, own in pairs)

    def _decode(
        self, queries: Sequence[BoxQuery], groups: Sequence[range], even: Sequence[Array]
    ) -> tuple[Array, list[Array]]:
        """Estimated parts (k,) from the spectrum, and moments within groups from a sample."""
        spectra = [self.collected.spectrum(query) for query in queries]
        estimated = np.array(list(map(self._estimate_rest, queries, spectra)))
        return estimated, self._moments.sums(queries, spectra, estimated, groups, even)

    def _sum_rows(
        self, queries: Sequence[BoxQuery], groups: Sequence[range]
    ) -> tuple[Array, list[Array]] | None:
        """The same from the rows themselves, with the exact moments, where a query is asked of many
        histograms (one per day, say) and its contributions are worked out once. None where decoding
        costs less: for few histograms, many queries, or a large design."""
        asked, shared = list(map(bare, queries)), self.shared
        few = self.histogram.siblings < MANY or len(set(asked)) > shared.most
        if few or self.collected.table.products or isinstance(self.histogram, Decoded):
            return None
        rows = self._rows
        family, phase = rows.columns
        own = [shared.of(query)[shared.starts[family] + phase] for query in asked]
        kinds = [query.weight for query in queries]
        estimated = [rows.moment(kind, None) @ c for kind, c in zip(kinds, own, strict=True)]
        moments = [
            [[rows.moment(kinds[a], kinds[b]) @ (own[a] * own[b]) for b in group] for a in group]
            for group in groups
        ]
        return np.array(estimated), list(map(np.array, moments))

    @cached_property
    def _moments(self) -> SecondMoments:
        return SecondMoments(self.shared, self.histogram.moment, self._population)

    def _population(self, pair: Pair) -> Spectrum:
        """T^(f) of a product of weights, without what is probably noise."""
        own = self.spectrum(*pair)
        return Faces(own, lambda face: own[face] * self._damping[face])

    @cached_property
    def _damping(self) -> Mapping[Axes, Array]:
        """See `Collected.damp`; of the people, for whatever weight."""
        people = self.spectrum(None)
        return Faces(people, lambda face: self.collected.damp(people, self.people, face))

    def _covariance_of_even(self, row: Sequence[BoxQuery]) -> Array:
        """Covariance of the sums of contributions if records were spread evenly, in the weights of
        those who reported."""
        moment = self.histogram.moment
        weights = [[moment(one.weight, other.weight) for other in row] for one in row]
        spread = self.shared.covariance(tuple(map(bare, row)))
        return np.asarray(spread * np.array(weights).reshape(spread.shape))

    def spectrum(self, weight: Weight | None, other: Weight | None = None) -> Spectrum:
        """T^(f) of every face, people counting with the product of two weights; 0 where the design
        knows nothing."""
        pair = frozenset((weight, other))
        if pair not in self._spectra:
            self._spectra[pair] = self.collected.divide(self._sums((weight, other)))
        return self._spectra[pair]

    def _sums(self, pair: Pair) -> Spectrum:
        """B(f) of every face about which families tell something."""
        held, shape = self.histogram, self.collected.face_shape
        if isinstance(held, Histogram):
            return sum_spectra(self.collected, self._rows, pair)
        return Faces(
            self.collected.information,
            lambda face: held.sum(face_name(face), pair).view(np.complex128).reshape(shape(face)),
        )
