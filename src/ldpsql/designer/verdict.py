"""Which questions a survey answers well enough, which improvements would help, and which
differences can be told; all before there are any data.

A question is a GROUP BY whose rows are about even shares of the people: a column of up to
MOST_ROWS values is asked value by value, a longer ordered one in MOST_RANGES ranges of equal
length; declared queries are asked as they are. Half of a 95 % interval is held against what a row
would be if people were spread evenly. An even share is all that is known beforehand, so smaller
groups than that are told less well than it says, and larger ones better. An average is taken to lie
anywhere between the bounds of its measure, one place as likely as another: the further it is from
their middle, the more the number of people that divides it adds to its error. Of a measure that
may be missing, one person in five is taken to have none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise, product
from statistics import NormalDist
from typing import Literal

import numpy as np

from ldpsql.algebra.boxes import Box, CodeSet, LinearQuery, Side
from ldpsql.algebra.estimate import CONFIDENCE, quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import DeclaredQuery, Kind, QueryClass, Workload
from ldpsql.designer import DesignedSurvey, auto
from ldpsql.designer.fairness import weigh_fairly
from ldpsql.designer.file import SurveyFile, read_texts
from ldpsql.designer.forecast import (
    Forecast,
    SampledQueries,
    as_linear,
    over_level,
    read_levels,
    sample_queries,
    take_evenly,
)
from ldpsql.errors import pluralize
from ldpsql.estimators.base import AnyDesign
from ldpsql.limits import deadline
from ldpsql.mechanisms.registry import mechanism as registered
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, SurveyError
from ldpsql_device.schema import Dimension
from ldpsql_device.shuffled import Shuffled

Verdict = Literal["sharp", "usable", "useless"]
Function = Literal["COUNT", "SUM", "AVG", "STDDEV"]
VERDICTS: tuple[Verdict, ...] = ("sharp", "usable", "useless")
SHARP, USABLE, USABLE_AVERAGE = 0.10, 0.50, 0.25
"""The largest half-intervals, as shares of the even answer. With a tenth a ranking of groups that
differ by a fifth is right; with a half an answer is still told from half of it, and from none at
all; with more it is not. For an average, of the range of its measure: everybody knows it to within
half of that before there are reports, and what does not even halve this is useless."""
MOST_ROWS, MOST_RANGES = 12, 10
MOST_QUESTIONS = 48
UNHURRIED, HASTY = (0.25, 2.0), (0.1, 0.5)
"""Of the processor time that the design took, the part that all changes may take that are tried,
and the seconds that they always have; likewise in haste."""
MOST_WORK = 6.0
"""Of changes that are tried, in designs as large as the survey's own."""
MANY_COLUMNS = 4
"""Of more columns, half of them are left out as well."""
LARGEST = 9.99
"""Half-intervals that are larger are all alike."""
OFF_MIDDLE, MISSING = 1.0 / 3.0, 0.2
"""Assumptions about averages: the mean square of their distance from the middle of the bounds, in
halves of the distance of these; and the part of people who have no value, where it may be
missing. That is what surveys meet, for whom a verdict is; designs are compared with each other as
if no code were more frequent (`MISSING_SHARE`), so that none is chosen for a guess."""
POWER, LEVEL = 0.8, 0.05
_SAMPLED, _DECLARED = 4, 16
_MORE_PEOPLE, _MORE_EPSILON = 4, 1.5
_PRICES: Mapping[str, float] = {
    "people": 0.1,
    "epsilon": 0.1,
    "shuffler": 0.1,
    "bins": 0.05,
    "column": 0.05,
    "columns": 0.1,
    "predicates": 0.05,
}
"""The gain for which each kind of improvement is just worth while, where 1 is to make useless
questions sharp, all of them. Lost questions are counted besides."""


@dataclass(frozen=True)
class Question:
    """One that a person would ask.

    key: its columns, and its measure or the number of its text, by which another design has it.
    text: in words.  sample: queries of some of its rows.  shares: the even share of a row on each
    of its columns; of a declared one, of all people at once.  function: what is asked of them.
    bounds: of the measure that is averaged, or None for what is counted or added up.  counted: the
    numbers of people by whom sums are divided, where there is an average.  may_be_missing: whether
    its measure may be.
    """

    key: tuple[tuple[str, ...], str]
    text: str
    sample: SampledQueries
    shares: tuple[float, ...]
    function: Function
    bounds: tuple[float, float] | None = None
    counted: SampledQueries | None = None
    may_be_missing: bool = False

    @property
    def share(self) -> float:
        """The even share of all people whom a row is about."""
        return math.prod(self.shares)

    @property
    def most(self) -> float:
        """The largest half-interval of a usable answer."""
        return USABLE if self.bounds is None else USABLE_AVERAGE


@dataclass(frozen=True)
class Judged:
    """A question with half of its 95 % interval: a share of the even answer, or of the range of the
    measure that is averaged. Infinite where the survey does not answer it."""

    question: Question
    half: float

    @property
    def verdict(self) -> Verdict:
        """How well it is answered."""
        return "sharp" if self.half <= SHARP else "usable" if self._value > 0.0 else "useless"

    @property
    def told(self) -> tuple[float, float] | None:
        """An even answer, and the least one that is told from it: shares of all people, or
        averages; None of other functions, whose even answers mean nothing."""
        own = self.question
        if own.function == "AVG" and own.bounds is not None:
            low, high = own.bounds
            return (low + high) / 2.0, (low + high) / 2.0 + self.half * (high - low)
        return (own.share, own.share * (1.0 + self.half)) if own.function == "COUNT" else None

    @property
    def _value(self) -> float:
        """From 0 for a useless question to 1 for a sharp one, by the logarithm."""
        most = self.question.most
        if self.half > most:
            return 0.0
        return min(1.0, 1e-9 + math.log(most / self.half) / math.log(most / SHARP))


@dataclass(frozen=True)
class Improvement:
    """One that was tried.

    text, cost: it, and what it costs, in words.  before, after: the question that gains most.
    better: how many questions get a better verdict.  lost: how many that were usable can no longer
    be asked.  score: mean gain of all questions less the price.
    """

    kind: str
    text: str
    cost: str
    before: Judged
    after: Judged
    better: int
    lost: int
    score: float


@dataclass(frozen=True)
class Effect:
    """Whether a difference between two groups can be told.

    text: of what, and between which groups.  power: the chance that a two-sided test at 5 % finds
    it.  people: how many would find it with a chance of 80 %.
    """

    text: str
    power: float
    people: float


# -- questions ------------------------------------------------------------------------------------


def list_questions(workload: Workload, texts: Sequence[str] = ()) -> tuple[Question, ...]:
    """The questions of a workload, at most MOST_QUESTIONS of its classes, those about fewer columns
    first.  texts: the SQL of its declared queries."""
    asked = sorted(workload.classes, key=lambda entry: len(entry.predicates))
    every = [own for entry in asked if (own := _question_of(entry, workload.domain))]
    found = list({own.key: own for own in every}.values())
    few = [own for own in found if len(own.shares) < 2][:MOST_QUESTIONS]
    rest = found[len(few) :]
    return (
        *_declared_questions(workload, texts),
        *few,
        *(take_evenly(rest, MOST_QUESTIONS - len(few)) if len(few) < MOST_QUESTIONS else ()),
    )


def _question_of(entry: QueryClass, domain: RecordDomain) -> Question | None:
    """A class as a question; None for what nobody asks: everybody's number, how many have a value,
    and the average of a column by itself."""
    first = domain.first_level_axis
    asked = [(axis, kind) for axis, kind in entry.predicates if axis < first]
    of_level = entry.predicates[len(asked) :]
    names, measure, bounds = tuple(domain.names[axis] for axis, _ in asked), "", None
    if of_level:
        ((axis, kind),) = of_level
        if kind == "present":
            return None
        measure, bounds = domain.names[axis], domain.nullable[axis - first][:2]
    elif entry.measure is not None:
        measure, bounds = domain.measure_names[entry.measure], domain.bounds[entry.measure]
    if measure in names or not (names or measure):
        return None
    rows = [_rows_of(axis, kind, domain) for axis, kind in asked]
    queries, counted = [], []
    for chosen in take_evenly(list(product(*rows)), _SAMPLED):
        sides: list[Side] = [None] * len(domain.sizes)
        for (axis, _), side in zip(asked, chosen, strict=True):
            sides[axis] = side
        queries.append(LinearQuery(over_level(tuple(sides), of_level, domain), entry.measure))
        present: list[tuple[int, Kind]] = [(axis, "present") for axis, _ in of_level]
        counted.append(LinearQuery(over_level(tuple(sides), present, domain)))
    words = [
        f"{name}{' in ranges' if _is_cut(axis, kind, domain) else ''}"
        for name, (axis, kind) in zip(names, asked, strict=True)
    ]
    text = " by ".join([f"AVG({measure})"] * bool(measure) + words)
    sample = SampledQueries(text, text, 1.0, tuple(queries), domain, is_about_middle=bool(measure))
    people = SampledQueries(text, text, 1.0, tuple(counted), domain) if measure else None
    shares = [
        sum(high - low for side in own for low, high in side) / len(own) / domain.sizes[axis]
        for own, (axis, _) in zip(rows, asked, strict=True)
    ]
    function: Function = "AVG" if measure else "COUNT"
    key, is_null = (names, measure), bool(of_level)
    return Question(key, text, sample, tuple(shares), function, bounds, people, is_null)


def _is_cut(axis: int, kind: Kind, domain: RecordDomain) -> bool:
    return kind != "equality" and domain.sizes[axis] > MOST_ROWS


def _rows_of(axis: int, kind: Kind, domain: RecordDomain) -> list[CodeSet]:
    """The rows of a GROUP BY on one column: its values, or ranges; up to the end of each, where
    prefixes are asked for."""
    if not _is_cut(axis, kind, domain):
        return [((code, code + 1),) for code in range(domain.sizes[axis])]
    cuts = cut_evenly(domain.sizes[axis] - domain.unordered_codes(axis))
    starts = [0] * (len(cuts) - 1) if kind == "prefix" else cuts
    return [((low, high),) for low, high in zip(starts, cuts[1:], strict=False)]


def cut_evenly(size: int) -> list[int]:
    """The ends of MOST_RANGES ranges of codes of about equal length."""
    return [round(place * size / MOST_RANGES) for place in range(MOST_RANGES + 1)]


def _declared_questions(workload: Workload, texts: Sequence[str]) -> Iterator[Question]:
    """Those of every text: a count, and of every measure the most that is asked of it."""
    domain = workload.domain
    by_text: dict[int, dict[_Asked, list[DeclaredQuery]]] = {}
    for query in workload.queries:
        by_text.setdefault(query.text, {}).setdefault(_find_asked(query, domain), []).append(query)
    for number, parts in by_text.items():
        sql = " ".join(texts[number - 1].split())
        asked = [own for own in parts if not any(_is_needed_for(own, more) for more in parts)]
        if len(asked) > 1 and not re.search(r"\bcount\s*\(", sql, re.IGNORECASE):
            # The number of people by whom averages are divided.
            asked = [own for own in asked if own.kind != "COUNT"]
        for own in asked:
            members = tuple(parts[own])
            total = sum(query.weight for query in members)
            queries = tuple(replace(query, weight=query.weight / total) for query in members)
            part = replace(workload, classes=(), queries=queries)
            (sample,) = sample_queries(part, _DECLARED)
            text = f"{own.text} of {sql}" if len(asked) > 1 else sql
            people = [_people_of(query, own) for query in sample.queries]
            shares = [sum(a * box.share(domain.sizes) for a, box in each) for each in people]
            # A sum is held against half of what all could add, as much as bounds of 0 and more
            # have it.
            share = sum(shares) / len(shares) * (0.5 if own.kind == "SUM" else 1.0)
            counted = None
            if own.bounds is not None:
                present = tuple(_count_present(each, own, domain) for each in people)
                counted = replace(sample, queries=present, is_about_middle=False)
            key = (), f"{number} {own.text}"
            is_null = own.axis is not None
            kind, bounds = own.kind, own.bounds
            yield Question(key, text, sample, (share,), kind, bounds, counted, is_null)


@dataclass(frozen=True)
class _Asked:
    """A function of a measure.

    axis: of the levels of the measure if it may be missing, or None.  bounds: of an average, None
    for counts and sums.
    """

    kind: Function
    measure: str = ""
    axis: int | None = None
    bounds: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.kind}({self.measure})" if self.measure else self.kind


def _find_asked(query: DeclaredQuery, domain: RecordDomain) -> _Asked:
    """The function of which a query is a part: sums about the middle of the bounds belong to an
    average, and those of squares to a standard deviation, of about the same scale."""
    own = query.measure
    if own is not None:
        name, bounds = domain.measure_names[own], domain.bounds[own]
        if query.is_square or not query.level:
            return _Asked("STDDEV" if query.is_square else "AVG", name, None, bounds)
        return _Asked("SUM", name)
    found = read_levels(as_linear(query), domain)
    if found is None:
        return _Asked("COUNT")
    axis, amounts = found
    name, bounds = domain.names[axis], domain.nullable[axis - domain.first_level_axis][:2]
    if np.ptp(amounts) == 0.0:
        return _Asked("COUNT", name, axis)
    if np.allclose(amounts, -amounts[::-1]):
        return _Asked("AVG", name, axis, bounds)
    is_even = np.allclose(amounts, amounts[::-1])
    return _Asked("STDDEV", name, axis, bounds) if is_even else _Asked("SUM", name, axis)


def _is_needed_for(own: _Asked, more: _Asked) -> bool:
    """Whether a function is part of another one of the same measure: the number of those who have
    it of its average, and that of its standard deviation."""
    is_part = (own.kind, more.kind) in (("AVG", "STDDEV"), ("COUNT", "STDDEV"), ("COUNT", "AVG"))
    return is_part and bool(own.measure) and own.measure == more.measure


def _people_of(query: LinearQuery, asked: _Asked) -> list[tuple[float, Box]]:
    """The boxes of a query with the share of their people who count, whatever their measures."""
    people: dict[Box, float] = {}
    largest = 1.0 if asked.axis is None else max(abs(amount) for amount, _ in query.terms)
    for amount, box in query.terms:
        sides = tuple(None if axis == asked.axis else own for axis, own in enumerate(box.sides))
        own = Box(sides)
        people[own] = max(people.get(own, 0.0), abs(amount) / largest)
    return [(share, box) for box, share in people.items()]


def _count_present(
    people: Sequence[tuple[float, Box]], asked: _Asked, domain: RecordDomain
) -> LinearQuery:
    """The number of those of some people who have a measure."""
    if asked.axis is None:
        return LinearQuery(tuple(people))
    sides = {asked.axis: ((0, domain.sizes[asked.axis] - 1),)}
    present = Box.of(len(domain.sizes), sides)
    return LinearQuery(tuple((share, box & present) for share, box in people))


# -- verdicts -------------------------------------------------------------------------------------


def judge(design: AnyDesign, questions: Sequence[Question], people: int) -> tuple[Judged, ...]:
    """How well a design answers questions of so many people, in their order. SurveyError where
    nothing can be predicted."""
    samples = [own.sample for own in questions]
    samples += [own.counted for own in questions if own.counted is not None]
    try:
        variances = list(Forecast.of(design, samples, people).variances)
    except Error as error:
        variances = [_variance(design, sample, people) for sample in samples]
        if all(math.isinf(variance) for variance in variances):
            raise SurveyError(f"no answer's error can be predicted: {error}") from error
    of_counts, judged = iter(variances[len(questions) :]), []
    for own, of_sum in zip(questions, variances, strict=False):
        if own.counted is None:
            deviation = math.sqrt(of_sum) / (people * own.share)
        else:
            deviation = _error_of_ratio(own, of_sum, next(of_counts), people)
        judged.append(Judged(own, quantile(CONFIDENCE) * deviation))
    return tuple(judged)


def _error_of_ratio(own: Question, of_sum: float, of_count: float, people: int) -> float:
    """The standard error of an average, as a share of the range of its measure.

    of_sum, of_count: variances, of the sum about the middle in halves of the range.
    """
    number = people * own.share * (1.0 - MISSING if own.may_be_missing else 1.0)
    # The error of S / n is that of S - a n over n, a being the average; over all places of it the
    # covariance of S and n is left out, which for people spread evenly is 0. By Fieller's theorem
    # the interval is 1 / sqrt(1 - g) times as wide for a = 0, g being the square of half of n's
    # interval over n; from g = 1 on nothing is known, and a tenfold error is as useless.
    g = quantile(CONFIDENCE) ** 2 * of_count / number**2
    first_order = math.sqrt(of_sum + OFF_MIDDLE * of_count) / (2.0 * number)
    return first_order / math.sqrt(max(1.0 - g, 0.01))


def _variance(design: AnyDesign, sample: SampledQueries, people: int) -> float:
    try:
        return Forecast.of(design, [sample], people).variances[0]
    except Error:
        return math.inf


def judge_survey(designed: DesignedSurvey) -> tuple[Judged, ...]:
    """The questions of a survey's workload, at the number of people that it announces, the most
    accurate first. Errors as of `judge`."""
    texts = read_texts(designed.survey.workload or {})
    questions = list_questions(designed.workload, texts)
    found = judge(designed.survey.design, questions, designed.people)
    return tuple(sorted(found, key=lambda own: own.half))


# -- improvements ---------------------------------------------------------------------------------


@dataclass
class Budget:
    """The time and work left to designs that are tried.

    seconds: of processor time.  work: in designs as large as the survey's own, so that what is
    tried does not depend on the machine alone.
    """

    seconds: float
    work: float = MOST_WORK

    @classmethod
    def of(cls, designed: DesignedSurvey, *, is_quick: bool) -> Budget:
        """By the time that a design has taken."""
        share, fewest = HASTY if is_quick else UNHURRIED
        return cls(max(fewest, share * designed.seconds))

    def allows(self, work: float) -> bool:
        """Whether so much may be begun."""
        return self.seconds > 0.0 and work <= self.work

    @contextmanager
    def spend(self, work: float) -> Iterator[None]:
        """Do so much; SurveyError once the time is over."""
        self.work -= work
        started = auto.clock()
        try:
            with deadline(self.seconds, _too_slow, auto.clock):
                yield
        finally:
            self.seconds -= auto.clock() - started


def _too_slow(seconds: float) -> SurveyError:
    return SurveyError(f"to try it would take more than {seconds:.0f} s")


def _work_of(workload: Workload) -> float:
    """Roughly in proportion to what a design takes: the cells that classes ask about."""
    sizes = workload.domain.sizes
    cells = [math.prod(sizes[axis] for axis, _ in entry.predicates) for entry in workload.classes]
    return float(sum(cells) + len(workload.queries))


@dataclass(frozen=True)
class _Candidate:
    """change: gives the file that is tried; None where there are more people only."""

    kind: str
    text: str
    cost: str
    change: Callable[[], SurveyFile] | None


def improve(
    designed: DesignedSurvey,
    judged: Sequence[Judged],
    budget: Budget,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[tuple[Improvement, ...], int]:
    """Improvements, the best first and at most one of a kind, and how many were left untried
    because the budget was spent.

    Each is designed, with the mechanism and the options of the survey. One that does not fit, or
    gains nothing, is left out.
    """
    found: list[Improvement] = []
    whole, untried = _work_of(designed.workload), 0
    for candidate in _list_candidates(designed):
        tell(f"trying {candidate.text}")
        try:
            file = candidate.change() if candidate.change else None
            work = _work_of(file.workload) / whole if file else 0.0
            if work and not budget.allows(work):
                untried += 1
                continue
            with budget.spend(work):
                found += _try(candidate, file, designed, judged)
        except (Error, MemoryError):
            untried += budget.seconds <= 0.0
    found.sort(key=lambda own: -own.score)
    best = {own.kind: own for own in reversed(found)}
    return tuple(sorted(best.values(), key=lambda own: -own.score)), untried


def _list_candidates(designed: DesignedSurvey) -> Iterator[_Candidate]:
    """One of each kind first, the quick ones before others."""
    file, people = designed.file, designed.people
    more = _MORE_PEOPLE * people
    yield _Candidate("people", f"{more:,} people", f"{more - people:,} more to ask", None)
    if file.workload.classes and file.workload.max_predicates > 1:
        fewer = min(file.workload.max_predicates, len(file.schema.dimensions)) - 1
        asked = {**(file.workload_options or {}), "max_predicates": fewer}
        if fewer:
            less = f"no more than {pluralize(fewer, 'column')} at once"
            changed = partial(replace, file, workload_options=asked)
            yield _Candidate("predicates", f"max_predicates = {fewer}", less, changed)
    columns, bins = list(_list_columns(file)), list(_list_bins(file))
    yield from chain(_list_halves(file), columns[:1], bins[:1])
    epsilon = f"{float(file.epsilon) * _MORE_EPSILON:.3g}"
    weaker = f"promises less: e^{epsilon} in place of e^{file.epsilon}"
    yield _Candidate("epsilon", f"epsilon {epsilon}", weaker, partial(_with_epsilon, file, epsilon))
    # What travels in clear would split the crowd.
    if file.shuffled is None and not file.published_schema.public:
        trusting = partial(_with_shuffler, file, people)
        yield _Candidate("shuffler", "a shuffler whom all trust", "", trusting)
    yield from chain(columns[1:], bins[1:])


def _with_epsilon(file: SurveyFile, epsilon: str) -> SurveyFile:
    larger = Epsilon.parse(epsilon)
    shuffled = replace(file.shuffled, epsilon=larger) if file.shuffled else None
    return replace(file, epsilon=larger, shuffled=shuffled)


def _with_shuffler(file: SurveyFile, people: int) -> SurveyFile:
    delta = f"1e-{len(str(people)) + 1}"
    return replace(file, shuffled=Shuffled.parse(str(file.epsilon), delta, people))


def _list_bins(file: SurveyFile) -> Iterator[_Candidate]:
    """Coarser bins of ordered columns, the largest first."""
    for own in sorted(file.schema.dimensions, key=lambda own: -own.size):
        is_ordered = own.domain.type not in ("category", "bool")
        if own.declared > MOST_ROWS and is_ordered and not own.sensitive:
            text = f"{own.name} in {MOST_RANGES} bins"
            yield _Candidate("bins", text, "nothing finer is known", partial(_with_bins, file, own))


def _with_bins(file: SurveyFile, own: Dimension) -> SurveyFile:
    # It loads sqlglot, which a survey without queries does not need.
    from ldpsql.designer.merging import merge  # noqa: PLC0415

    cuts = cut_evenly(own.domain.size)
    binned = merge(own, [((low, high),) for low, high in pairwise(cuts)])
    changed = tuple(binned if each is own else each for each in file.schema.dimensions)
    return replace(file, schema=replace(file.schema, dimensions=changed))


def _list_columns(file: SurveyFile) -> Iterator[_Candidate]:
    """Each column left out, dimensions first, the largest first."""
    names = _sort_columns(file)
    for name in names if len(names) > 1 else ():
        change = partial(_without, file, frozenset([name]))
        yield _Candidate("column", f"leave out {name}", f"{name} is not known", change)


def _list_halves(file: SurveyFile) -> Iterator[_Candidate]:
    """The larger half of many columns left out."""
    names = _sort_columns(file)
    if len(names) > MANY_COLUMNS:
        change = partial(_without, file, frozenset(names[: len(names) // 2]))
        text = f"leave out {len(names) // 2} of {len(names)} columns"
        yield _Candidate("columns", text, "the largest are not known", change)


def _sort_columns(file: SurveyFile) -> list[str]:
    """The names of dimensions and of measures, the largest dimensions first."""
    dimensions = sorted(file.schema.dimensions, key=lambda own: -own.size)
    names = [own.name for own in dimensions] + [own.name for own in file.schema.measures]
    return list(dict.fromkeys(names))


def _without(file: SurveyFile, names: frozenset[str]) -> SurveyFile:
    schema, options = file.schema, file.workload_options
    kept = tuple(own for own in schema.dimensions if own.name not in names)
    measures = tuple(own for own in schema.measures if own.name not in names)
    if options is not None and "kinds" in options:
        kinds = {key: kind for key, kind in options["kinds"].items() if key not in names}
        options = {**options, "kinds": kinds}
    if file.workload.classes:
        # Of fewer columns, more at once may be the default.
        most = min(file.workload.max_predicates, max(len(kept), 1))
        options = {**(options or {}), "max_predicates": most}
    less = replace(schema, dimensions=kept, measures=measures)
    return replace(file, schema=less, workload_options=options)


def _try(
    candidate: _Candidate,
    file: SurveyFile | None,
    designed: DesignedSurvey,
    judged: Sequence[Judged],
) -> Iterator[Improvement]:
    """The improvement that a candidate is, if it is one."""
    cost = candidate.cost
    if file is None:
        # The variance of every estimate is that of one report over their number.
        after = tuple(replace(own, half=own.half / math.sqrt(_MORE_PEOPLE)) for own in judged)
    else:
        # Whoever sees the reports, classes weigh the same, and to weigh them takes long.
        is_shuffled = candidate.kind == "shuffler"
        made, after = _judge_variant(file, designed, designed.workload if is_shuffled else None)
        if is_shuffled:
            cost = f"alone a report has epsilon {made.epsilon}"
    known = {own.question.key: own for own in after}
    pairs = [(own, known.get(own.question.key)) for own in judged]
    kept = [
        (old, new)
        for old, new in pairs
        if new is not None and math.isfinite(old.half) and new.half <= LARGEST
    ]
    if not kept:
        return
    gains = [math.log(old.half / new.half) for old, new in kept]
    values = sum((0.0 if new is None else new._value) - old._value for old, new in pairs)
    # Where nothing gets usable or sharp, intervals that shrink are all there is to tell.
    mean = values / len(pairs) + 0.05 * sum(gains) / len(gains)
    rises = [VERDICTS.index(old.verdict) - VERDICTS.index(new.verdict) for old, new in kept]
    place = max(range(len(kept)), key=lambda i: (rises[i], gains[i]))
    if mean > 0.0 and gains[place] > 0.01:
        old, new = kept[place]
        better = sum(rise > 0 for rise in rises)
        lost = sum(new is None and old.verdict != "useless" for old, new in pairs)
        score = mean - _PRICES[candidate.kind]
        yield Improvement(candidate.kind, candidate.text, cost, old, new, better, lost, score)


def _judge_variant(
    file: SurveyFile, designed: DesignedSurvey, workload: Workload | None = None
) -> tuple[AnyDesign, tuple[Judged, ...]]:
    """A design of a changed file, by the mechanism and the options of the survey, and how well it
    answers the questions of its workload, which is given if it is known."""
    if workload is None:
        workload = file.workload
        if designed.is_fair and len(workload.classes) > 1:
            workload = weigh_fairly(workload, file.epsilon)
    recipe, options = registered(designed.survey.design.name), designed.survey.options
    made = recipe.design(workload.domain, file.promise, options, workload)
    texts = read_texts(file.workload_options or {})
    return made, judge(made, list_questions(workload, texts), designed.people)


# -- missing values -------------------------------------------------------------------------------


@dataclass(frozen=True)
class MissingCost:
    """The cost of measures that may be missing, even where none is.

    names: of these measures.  averages, others: how many times as wide the intervals of averages,
    and all others, are as if none could be, by the geometric mean; None where there are none.
    """

    names: tuple[str, ...]
    averages: float | None
    others: float | None


def find_missing_cost(
    designed: DesignedSurvey, judged: Sequence[Judged], budget: Budget
) -> MissingCost | None:
    """By a design of the same survey in which all measures are required; None where they are.
    Without ratios where that does not fit into the budget."""
    schema = designed.file.schema
    names = tuple(own.name for own in schema.measures if own.has_null)
    if not names:
        return None
    # A missing value would count as one of the bounds: that changes no error.
    required = tuple(
        replace(own, has_null=False, missing_as=own.bounds[0]) if own.has_null else own
        for own in schema.measures
    )
    file = replace(designed.file, schema=replace(schema, measures=required))
    questions = [replace(own.question, may_be_missing=False) for own in judged]
    try:
        if not budget.allows(1.0):
            return MissingCost(names, None, None)
        with budget.spend(1.0):
            before = judge(designed.survey.design, questions, designed.people)
            _, found = _judge_variant(file, designed)
    except (Error, MemoryError):
        return MissingCost(names, None, None)
    after = {own.question.key: own for own in found}
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for own in before:
        new = after.get(own.question.key)
        if new is not None and math.isfinite(own.half) and math.isfinite(new.half):
            is_average = own.question.bounds is not None
            ratios[is_average].append(math.log(own.half / new.half))
    averages, others = (
        math.exp(sum(own) / len(own)) if own else None for own in (ratios[True], ratios[False])
    )
    return MissingCost(names, averages, others)


# -- differences ----------------------------------------------------------------------------------


def find_effects(judged: Sequence[Judged], difference: float, people: int) -> tuple[Effect, ...]:
    """Whether a difference between two groups can be told, the likeliest first.

    difference: of the share of a group's people, or of an average as a share of the range of its
    measure. Groups are the two halves of all people for what is counted by one column, for an
    average of everybody, and for declared questions; and two values of the column with the fewest
    for what is counted or averaged by several. Errors are those of people spread evenly, as a
    sample; of shares, with the sizes of groups known.
    """
    normal = NormalDist()
    bound, wanted = normal.inv_cdf(1.0 - LEVEL / 2.0), normal.inv_cdf(POWER)
    effects = []
    for own in judged:
        names, function = own.question.key[0], own.question.function
        if function not in ("COUNT", "AVG") or not math.isfinite(own.half):
            continue
        groups, error = "two halves of the people", own.half / quantile(CONFIDENCE)
        if function == "COUNT":
            error *= own.question.share
        if len(names) + (function == "AVG" and bool(names)) > 1:
            largest, between = max(zip(own.question.shares, names, strict=True))
            groups = f"two groups of {between}"
            error /= largest if function == "COUNT" else 1.0
        else:
            # Each half has half the variance of a sum, and half the people.
            error *= math.sqrt(2.0)
        shift = difference / (error * math.sqrt(2.0))
        power = normal.cdf(shift - bound) + normal.cdf(-shift - bound)
        needed = people * ((bound + wanted) / shift) ** 2
        effects.append(Effect(f"{own.question.text}, {groups}", power, needed))
    return tuple(sorted(effects, key=lambda effect: effect.people))
