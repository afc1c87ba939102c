"""From SQL text to a result.

    parse -> plans -> relation of estimates -> outer SQL -> result

Estimators are kept per (survey, version of its histogram, selection of reports), so that a second
question about the same reports costs no scan; small relations of estimates are kept per base query,
so that a question asked again costs no estimation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.arrow_arrays import make_array, read_numbers
from ldpsql.engine.arithmetic import Interval
from ldpsql.engine.explain import MOST_SUMS, SliceReports, explain, explain_verbose
from ldpsql.engine.notes import (
    guarantee_of_batches,
    how_joined,
    impossible_sums,
    notes_on_bounds,
    notes_on_error_bars,
    notes_on_estimator,
    notes_on_missing,
    notes_on_query,
    public_texts,
    shortfall_notes,
    tell_harm,
)
from ldpsql.engine.plan import QueryPlan, make_plans
from ldpsql.engine.propagation import Covariances, ErrorBars, Gradients, Propagation
from ldpsql.engine.relation import Relation
from ldpsql.engine.result import Result
from ldpsql.engine.sample import Estimators, Sample, Source, selection
from ldpsql.errors import QueryError
from ldpsql.estimate import CONFIDENCE, Array, Estimates
from ldpsql.figures import tell_forged
from ldpsql.forgery import Spread, signs_within_groups, suspect
from ldpsql.guarantees import StatedGuarantee
from ldpsql.lookups import PublicTable
from ldpsql.margins import Margins
from ldpsql.parser import Parameters, catalog, parse
from ldpsql.parser.query import ROW, Query, Statement, number_terms
from ldpsql.report import Integers
from ldpsql.store.base import Selection, Store
from ldpsql.survey import Survey
from ldpsql_device.errors import IntegrityError, InterfaceError, NotSupportedError
from ldpsql_device.frozen import frozen

if TYPE_CHECKING:
    from ldpsql.engine.strata import Strata

V = TypeVar("V")

_KEPT, _LARGEST_KEPT = 64, 4096
_MOST_EXPLAINED = 64
"""Rows of an answer that EXPLAIN works out, to say what a forged report can do to it."""
_MOST_ROWS_KEPT = 1 << 22
"""Rows of counts of all selections that are kept, those of the last one apart."""


@frozen
class Subject:
    """One of the surveys that a statement asks.

    version: of its histogram, the same for the whole statement.  estimator: which one answers.
    guarantee: what its people were promised and got.
    """

    survey: Survey
    version: int
    estimator: str
    guarantee: StatedGuarantee

    def key(self, *more: object) -> tuple[object, ...]:
        """What tells this state of the survey's reports, and something asked of it, apart."""
        return (self.survey.fingerprint, self.estimator, self.version, *more)


def require_settings(
    confidence: float, seconds: float, weights: Margins, *, one_population: bool, census: bool
) -> None:
    """InterfaceError for settings of a `Session` that make no sense."""
    if census and (weights or one_population):
        raise InterfaceError(
            "a census is about those who answered; leave out the margins of a population, and "
            "one_population"
        )
    if not 0.0 < confidence < 1.0:
        raise InterfaceError(f"confidence must lie between 0 and 1, not {confidence}")
    if not seconds >= 0.0:
        raise InterfaceError(f"a timeout is a number of seconds from 0 on, not {seconds}")


class Session:
    """Answers questions about the surveys of one store. Not to be shared between threads."""

    def __init__(
        self,
        store: Store,
        *,
        confidence: float = CONFIDENCE,
        estimator: str | None = None,
        seconds: float = limits.SECONDS,
        weights: Margins = (),
        one_population: bool = False,
        census: bool = False,
    ) -> None:
        """Ask a store.

        confidence: level of the intervals, between 0 and 1 (InterfaceError otherwise).
        estimator: which of a design's estimators answers; None for the survey's own choice.
        seconds: how long one statement may take.
        weights: margins of the population that answers are about; none for those who took part.
        one_population: whether surveys that are asked as one table are samples of one population,
        as they are in any case where it has margins.
        census: whether those who answered are all that answers are about, so that intervals need
        not contain that they are a sample; InterfaceError beside a population of others.
        """
        require_settings(confidence, seconds, weights, one_population=one_population, census=census)
        self.store = store
        self.confidence = confidence
        self.estimator = estimator
        self.seconds = seconds
        self.weights = weights
        self.one_population = one_population
        self.census = census
        self._kept: dict[str, OrderedDict[Any, Any]] = {}
        self._registered: dict[str, PublicTable] = {}

    def register(self, table: PublicTable) -> None:
        """Let questions join a table that the store does not keep; a later one of the same name
        takes its place.

        IntegrityError for the name of a survey, or of a look-up table of the store.
        """
        surveys = {survey.table for survey in self.store.surveys()}
        if table.name in surveys or self.store.lookup(table.name):
            kind = "survey" if table.name in surveys else "look-up table"
            raise IntegrityError(f"the store has a {kind} {table.name}; give another name")
        self._registered[table.name] = table

    def unregister(self, name: str) -> None:
        """Forget a registered table; InterfaceError if there is none of that name."""
        if self._registered.pop(name.lower(), None) is None:
            raise InterfaceError(f"no table {name!r:.60} is registered; register it first")

    def lookups(self) -> list[PublicTable]:
        """The tables that questions may join, those of the store and registered ones, by name."""
        found = {table.name: table for table in self.store.lookups()} | self._registered
        return [found[name] for name in sorted(found)]

    def _lookup(self, name: str) -> PublicTable | None:
        return self._registered.get(name.lower()) or self.store.lookup(name)

    def execute(self, sql: str, parameters: Parameters = None) -> Result:
        """Answer one SQL text, from the reports that there are now.

        Raises errors under `ldpsql.Error` only.
        """
        with limits.deadline(self.seconds):
            return self._execute(sql, parameters)

    def _execute(self, sql: str, parameters: Parameters) -> Result:
        with self.store.snapshot():
            statement = parse(sql, parameters, self.store.survey, self._lookup)
            tables = sorted({table for base in statement.bases for table in base.tables})
            subjects = {table: self._subject(self.store.survey(table)) for table in tables}
            if statement.mode == "answer":
                return self._answer(statement, subjects)
            return self._explain(statement, subjects)

    # -- what the reports say --------------------------------------------------------------

    def _keep(
        self,
        kind: str,
        key: object,
        make: Callable[[], V],
        is_small: Callable[[V], bool] = lambda _: True,
    ) -> V:
        """The value of a key, made at most once while it is among the last ones of its kind."""
        kept: OrderedDict[object, V] = self._kept.setdefault(kind, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
        value = make()
        if is_small(value):
            kept[key] = value
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        return value

    def _subject(self, survey: Survey) -> Subject:
        """NotSupportedError if the survey's design does not have the estimator."""
        offered = tuple(survey.design.estimators)
        name = self.estimator or survey.estimator or offered[0]
        if name not in offered:
            raise NotSupportedError(
                f"survey {survey.table} has no estimator {name!r} "
                f"({survey.design.name} offers {', '.join(offered)}); ask for one of those"
            )
        guarantee = survey.guarantee
        if survey.shuffled is not None:
            smallest = self.store.smallest_batch(survey.table)
            guarantee = self._keep(
                "guarantees",
                (survey.fingerprint, smallest),
                lambda: guarantee_of_batches(survey, smallest),
            )
        version = self.store.version(survey.table)
        if self._is_census(survey):
            from ldpsql.engine.census import of_census  # noqa: PLC0415  (where it is asked for)

            survey = self._keep("censuses", survey.fingerprint, lambda: of_census(survey))
        return Subject(survey, version, name, guarantee)

    def _is_census(self, survey: Survey) -> bool:
        """Whether answers are about those who answered: so asked, or the survey says so and nobody
        asks about a larger population."""
        if survey.population is None:
            return self.census
        return not (self.weights or self.one_population)

    def _estimators_of(self, subject: Subject, chosen: Selection) -> Estimators:
        """The estimators of a selection of reports, by public key; none where a condition on
        public columns leaves nobody."""

        def make() -> Estimators:
            survey = subject.survey
            found = self.store.decode(survey.table, chosen)
            if chosen.condition is not None and not chosen.keys:
                found = [each for each in found if each[1].counts.size]
            return Estimators(survey.design, subject.estimator, found)

        made = self._keep("estimators", subject.key(chosen), make)
        kept = self._kept["estimators"]
        while len(kept) > 1 and sum(each.size for each in kept.values()) > _MOST_ROWS_KEPT:
            kept.popitem(last=False)
        return made

    def _sizes_of(self, subject: Subject, condition: str | None = None) -> Integers:
        """Reports of every type, shape (report types,)."""
        return self._keep(
            "sizes",
            subject.key(condition),
            lambda: self.store.sizes(subject.survey.table, condition),
        )

    def _signs_of(self, subject: Subject) -> list[str]:
        """Signs that reports are forged; within groups where all were read for an answer anyway."""
        survey = subject.survey
        kept = self._kept.get("estimators", OrderedDict())
        everybody = kept.get(subject.key(Selection()))
        read = None if everybody is None else everybody.whole

        def find() -> list[str]:
            signs = Spread.of(survey.design.question_shares, self._sizes_of(subject)).signs
            return signs if read is None else signs + signs_within_groups(survey.plan, read)

        return [*self._keep("signs", subject.key(read is not None), find)]

    def _people(self, subject: Subject, condition: str | None = None) -> int:
        """How many people there are; the last round answers for those of all of them."""
        return subject.survey.design.earlier + int(self._sizes_of(subject, condition).sum())

    def _relation(self, base: Query, sql: str, subjects: Mapping[str, Subject]) -> Relation:
        """What the reports say about a base query."""
        asked = [subjects[table] for table in base.tables]
        return self._keep(
            "relations",
            (self.confidence, *(subject.key(base) for subject in asked)),
            lambda: Relation(self._source(base, sql, asked), self.confidence),
            lambda relation: len(relation) <= _LARGEST_KEPT,
        )

    def _source(self, base: Query, sql: str, subjects: Sequence[Subject]) -> Source:
        """Where the sums of a base query come from: those who answered, or a population."""
        sources: list[Source] = []
        is_sample = self._is_population(subjects)
        people = [self._people(subject) for subject in subjects]
        for subject in subjects:
            estimators_of = partial(self._estimators_of, subject)
            plan = make_plans(base, subject.survey, sql)[-1][1]
            sample = Sample.of(plan, estimators_of, subject.estimator)
            if is_sample:
                from ldpsql.engine.poststratify import Poststratified  # noqa: PLC0415  (as above)

                strata = self._strata(subject.survey, sum(people))
                sources.append(Poststratified.of(sample, strata, estimators_of))
            else:
                sources.append(sample)
        if len(sources) == 1:
            return sources[0]
        from ldpsql.engine.unions import Union  # noqa: PLC0415  (as above)

        return Union.combine(sources, people) if is_sample else Union.add(sources)

    def _is_population(self, asked: Sequence[object]) -> bool:
        """Whether the surveys that are asked are samples of a population."""
        return bool(self.weights) or (self.one_population and len(asked) > 1)

    def _strata(self, survey: Survey, people: int) -> Strata:
        """The population in the codes of a survey; people: how many there are without margins."""
        from ldpsql.engine.strata import make_undivided, strata_of  # noqa: PLC0415  (as above)

        if not self.weights:
            return make_undivided(people)
        return self._keep(
            "strata", survey.fingerprint, lambda: strata_of(self.weights, survey.schema)
        )

    # -- answers ---------------------------------------------------------------------------

    def _answer(self, statement: Statement, subjects: Mapping[str, Subject]) -> Result:
        relations = {
            base.relation: self._relation(base, statement.sql, subjects) for base in statement.bases
        }
        table, lists = self._evaluate(statement, relations)
        outputs = statement.outputs
        shown = table.rename_columns([output.name for output in outputs])
        lost = {place: output.lost for place, output in enumerate(outputs) if output.lost}
        indices = [place for place, output in enumerate(outputs) if output.is_estimate]
        if lists is None:  # with gradients, the outer query needs too much
            lost |= dict.fromkeys(indices, "its query is too large to be followed")
            indices, lists = [], []
        gradients = dict(zip(indices, lists, strict=True))
        for place in indices:
            if pa.types.is_string(table.schema.field(place).type):  # of UNION ALL with a text
                del gradients[place]
                lost[place] = "some of its rows are texts"
        propagation = self._propagation(statement, relations, subjects)
        bars, values = dict[int, ErrorBars](), dict[int, Array]()
        intervals, cut = dict[int, Interval](), dict[int, NDArray[np.bool_]]()
        for place, gradient in limits.in_time(gradients.items()):
            values[place] = read_numbers(table.column(place)).astype(np.float64)
            bars[place] = propagation.error_bars(values[place], gradient)
            bounds = propagation.bounds(values[place], gradient)
            intervals[place] = bars[place].interval.within(*bounds)
            cut[place] = bars[place].interval.is_beyond(*bounds)
            if cut[place].any():
                inside = make_array(np.clip(values[place], *bounds), pa.float64())
                shown = shown.set_column(place, shown.schema.field(place), inside)
        about = (text for base in statement.bases for text in self._on_people(base, subjects))
        notes = list(dict.fromkeys(about))
        notes += notes_on_error_bars(outputs, lost, bars)
        notes += notes_on_bounds(outputs, cut)
        notes += notes_on_missing(relations.values())
        notes += [n for relation in relations.values() for n in notes_on_query(relation.plan)]
        checked = [
            relation if relation.source is sample else Relation(sample, self.confidence)
            for relation in relations.values()
            for sample in relation.source.samples
        ]
        asked = {relation.plan.survey.table: relation for relation in checked}
        for name, subject in subjects.items():
            notes += notes_on_estimator(asked[name], subject.estimator)
        seen = {name: self._signs_of(subject) for name, subject in subjects.items()}
        for relation in checked:
            subject = subjects[relation.plan.survey.table]
            signs = seen[subject.survey.table]
            signs += impossible_sums(relation, self._people(subject), subject.estimator)
            notes += self._on_unseen_texts(relation, subject)

        def forged() -> Mapping[int, tuple[float, float]]:
            return {place: propagation.influence(each) for place, each in gradients.items()}

        for name, signs in seen.items():
            harm = tell_harm(outputs, forged(), self._people(subjects[name])) if signs else ""
            notes += suspect(name, signs, harm)
        if not gradients:
            return self._result(shown, subjects, notes)

        def joint() -> Estimates:
            columns = np.stack(list(values.values()), axis=1)
            return propagation.estimates(columns, list(gradients.values()))

        intervals = {place: intervals[place] for place, each in bars.items() if each.is_known}
        typical = {
            place: bars[place].typical for place in intervals if bars[place].typical is not None
        }
        more = {"intervals": intervals, "typical": typical, "estimates": joint, "forged": forged}
        return self._result(shown, subjects, notes, **more)

    def _on_people(self, base: Query, subjects: Mapping[str, Subject]) -> list[str]:
        """Who the answers are about, where that is not those who answered one survey."""
        surveys, found = [subjects[table].survey for table in base.tables], list[str]()
        if any(map(self._is_census, surveys)):
            found.append("intervals are about those who answered: a census, no sample")
        if self.weights:
            strata = self._strata(surveys[0], 0)
            found += [f"answers {strata.describe()}", *strata.notes]
        if len(surveys) > 1:
            found.append(how_joined(surveys, self._is_population(surveys)))
        return found

    def _on_unseen_texts(self, relation: Relation, subject: Subject) -> list[str]:
        """Notes on texts that are compared with a public column, and that no report holds."""
        return [
            f"{subject.survey.table}: no report holds {words}"
            for words, condition in public_texts(relation.plan).items()
            if not self._sizes_of(subject, condition).any()
        ]

    def _evaluate(
        self, statement: Statement, relations: Mapping[str, Relation]
    ) -> tuple[pa.Table, list[Gradients] | None]:
        """The outer query over the relations, and the gradients of its estimates, None where those
        take too much; one that only picks columns needs no database."""
        tables = {name: relation.table for name, relation in relations.items()}
        if statement.asks_catalog:
            tables |= catalog.relations(self.store.surveys(), self.lookups())
        tables |= {table.relation: table.rows for table in statement.tables}
        width = len(statement.outputs)
        if statement.projection is not None:
            (relation,), (base,) = tables.values(), statement.bases
            picked = [column for column, _ in statement.projection]
            places = {column.name: place for place, column in enumerate(base.columns)}
            numbers = read_numbers(relation.column(ROW)) * len(places)
            gradients = [
                Gradients.identity(numbers + places[column])
                for column, output in zip(picked, statement.outputs, strict=True)
                if output.is_estimate
            ]
            # Not select(), whose columns would have to be different ones.
            columns = [relation.column(column) for column in picked]
            return pa.Table.from_arrays(columns, names=picked), gradients
        try:
            table = self.store.evaluate(statement.traced, tables)
        except QueryError:
            return self.store.evaluate(statement.outer, tables), None
        lists = [Gradients.from_lists(column) for column in table.columns[width:]]
        return table.select(range(width)), lists

    def _propagation(
        self,
        statement: Statement,
        relations: Mapping[str, Relation],
        subjects: Mapping[str, Subject],
    ) -> Propagation:
        """What makes error bars of gradients."""

        def shares(table: str, *conditions: str | None) -> bool:
            both = " AND ".join(f"({each})" for each in conditions if each is not None)
            return bool(self._sizes_of(subjects[table], both or None).sum())

        numbers = {name: number for number, name in enumerate(relations)}
        return Propagation(
            [(numbers[base.relation], place) for base, place in number_terms(statement.bases)],
            Covariances(
                list(relations.values()),
                lambda table, chosen: self._estimators_of(subjects[table], chosen),
                shares,
            ),
            self.confidence,
            statement.reasons,
        )

    def _result(
        self, table: pa.Table, subjects: Mapping[str, Subject], notes: list[str], **more: Any
    ) -> Result:
        """A result with what is to be said of the surveys that were asked.

        more: other fields of `Result`, by name.
        """
        asked = tuple(subjects.values())
        short = [note for each in asked for note in shortfall_notes(each.survey, each.guarantee)]
        lag = self.store.lag()
        return Result(
            table,
            notes=(*notes, *short, *([lag] if lag else [])),
            surveys=tuple(each.survey for each in asked),
            reports=sum(map(self._people, asked)),
            estimators=tuple(each.estimator for each in asked),
            guarantees=tuple(each.guarantee for each in asked),
            level=self.confidence,
            **more,
        )

    # -- plans -----------------------------------------------------------------------------

    def _explain(self, statement: Statement, subjects: Mapping[str, Subject]) -> Result:
        """The plans as text, one line per row."""
        lines, notes = list[str](), list[str]()
        for base in statement.bases:
            lines += self._on_people(base, subjects)
            if self.weights:
                lines.append("the errors below are those of plain sums")
            for subject in [subjects[table] for table in base.tables]:
                plans = make_plans(base, subject.survey, statement.sql)
                plan = plans[-1][1]
                notes += notes_on_query(plan)
                reports = [self._slice_reports(plan, i, subject) for i in range(len(plan.slices))]
                if statement.mode == "explain verbose":
                    lines += explain_verbose(plans, reports, subject.guarantee, self.confidence)
                else:
                    lines += explain(plan, reports, subject.guarantee, self.confidence)
                default = next(iter(subject.survey.design.estimators))
                if subject.estimator != default:
                    lines.append(
                        f"estimator: {subject.estimator}; predicted errors and parts are the "
                        f"{default} one's"
                    )
        lines += self._explain_functions(statement, subjects)
        table = pa.table({"plan": pa.array(lines, type=pa.string())})
        return self._result(table, subjects, notes, explain="\n".join(lines))

    def _explain_functions(
        self, statement: Statement, subjects: Mapping[str, Subject]
    ) -> Iterator[str]:
        """What one forged report can do to the numbers of an answer of few rows that are not sums.

        It depends on the answer, which is worked out for it.
        """
        relations = [self._relation(base, statement.sql, subjects) for base in statement.bases]
        is_small = sum(map(len, relations)) <= _MOST_EXPLAINED
        if not is_small or all(relation.is_plain for relation in relations):
            return
        result = self._answer(statement, subjects)
        for place, ends in result.forged().items():
            yield f"{result.columns[place].name}: {tell_forged(*ends)}"

    def _slice_reports(self, plan: QueryPlan, place: int, subject: Subject) -> SliceReports:
        """The people of one slice, and the errors of its first row where public columns do not
        split it."""
        piece = plan.slices[place]
        people = self._people(subject, piece.condition)
        if plan.public_keys or not people or not piece.boxes or not plan.planned[place]:
            return SliceReports(people, subject.estimator)
        estimator = self._estimators_of(subject, selection(plan, piece))[()]
        row = plan.planned[place][0]
        forged = estimator.influence(row[:MOST_SUMS], np.eye(len(row))[:MOST_SUMS, :MOST_SUMS])
        errors = estimator.answer_rows([row])[0].stderr
        return SliceReports(people, subject.estimator, errors, forged)
