"""Notes beside an answer, and the promise that the batches keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.engine.propagation import ErrorBars
from ldpsql.engine.relation import Relation, ends_of
from ldpsql.errors import list_some, pluralize
from ldpsql.mechanisms.base import find_epsilon
from ldpsql.parser.query import Comparison, Membership, Output, atoms
from ldpsql.planner.plan import QueryPlan
from ldpsql.reports.forgery import SUSPICIOUS
from ldpsql.reports.report import Integers
from ldpsql.sql.aggregates import (
    Ordering,
    Ranked,
    aggregates,
    ends_of_codes,
    find_aggregate,
    find_log_scale,
)
from ldpsql.sql.domains import (
    as_day,
    domain_labels,
    extent,
    find_dimension,
    find_measure,
    find_public_column,
    is_listed_out,
    is_outside,
    match_codes,
)
from ldpsql.sql.quoting import Scalar, quote
from ldpsql.sql.quoting import literal as sql_literal
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql.wording.numbers import significant
from ldpsql_device.description import describe_extent, sum_of_year
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.shuffled import Central
from ldpsql_device.survey import PERIOD_COLUMN
from ldpsql_device.values import Value

_FORGED = 0.01
"""Share of reports whose effect, were they forged, a note states."""
_MOST_SUSPECTS, _ROUNDING, _LISTED, _MOST_SOUGHT = 64, 1e-9, 8, 16


def notes_on_error_bars(
    outputs: Sequence[Output], lost: Mapping[int, str], bars: Mapping[int, ErrorBars]
) -> list[str]:
    """Which numbers that are computed from estimates have no error bar, and why.

    lost: of columns, by place.  bars: of the other columns with estimates.
    """
    reasons: dict[str, list[str]] = {}
    for place, output in enumerate(outputs):
        name = f"{output.name:.60}"
        if place in lost:
            reasons.setdefault(lost[place], []).append(name)
        for reason, count in bars[place].lost.items() if place in bars else ():
            total = len(bars[place].interval.stderr)
            some = f"{name} (in {count} of {pluralize(total, 'row')})" if count < total else name
            reasons.setdefault(reason, []).append(some)
    return [
        f"no error bar for {', '.join(dict.fromkeys(names))}: {reason}"
        for reason, names in reasons.items()
    ]


def notes_on_bounds(outputs: Sequence[Output], cut: Mapping[int, NDArray[np.bool_]]) -> list[str]:
    """Which averages are shown within their bounds; cut: by place, in which rows."""
    names = [
        f"{outputs[place].name:.60} (in {int(rows.sum())} of {pluralize(len(rows), 'row')})"
        for place, rows in cut.items()
        if rows.any()
    ]
    if not names:
        return []
    return [
        f"{', '.join(dict.fromkeys(names))}: shown with its interval within the declared bounds of "
        "what is averaged; what is computed from it uses the plain estimate"
    ]


def notes_on_missing(relations: Collection[Relation]) -> list[str]:
    """How many numbers are not estimable."""
    missing = sum(relation.not_estimable for relation in relations)
    if not missing:
        return []
    return [
        f"{pluralize(missing, 'value')} {'is' if missing == 1 else 'are'} NULL: too few reports, "
        "or a denominator that cannot be told from zero; ask about more people (a wider range, "
        "fewer groups), or collect more reports"
    ]


def notes_on_choice(names: Sequence[str], candidates: int, level: float) -> list[str]:
    """What to know of rows that were chosen by estimates; candidates: 0 where none were."""
    if not candidates:
        return []
    column = " of each column" if len(names) > 1 else f" of {names[0]:.60}"
    return [
        f"estimates chose these rows among {candidates:,}: the intervals{column} hold together at "
        f"{level:.4g}, as such a choice keeps the luckiest estimates, which tend to be too high "
        "(too low where the lowest are kept)"
    ]


def notes_on_query(plan: QueryPlan) -> list[str]:
    """Where a person counts several times, and where nobody can be found."""
    outside = _on_domains(plan) or _on_nobody(plan)
    found = [*_on_joins(plan), *_on_periods(plan), *outside, *_on_days(plan)]
    return [*found, *_on_keys(plan), *_on_bins(plan), *_on_orders(plan), *_on_measures(plan)]


def _on_measures(plan: QueryPlan) -> list[str]:
    """What values outside of the bounds of a measure count as, and missing ones that are no NULL.

    Surveys of earlier files say neither; there a missing value counts as the middle of the bounds.
    """
    schema, notes = plan.survey.schema, list[str]()
    leaves = [leaf for column in plan.query.columns for leaf in aggregates(column.expression)]
    named = (find_measure(schema, leaf.column) for leaf in leaves if isinstance(leaf.column, str))
    summed = (number for own in plan.targets for number in (own.measure, *own.present))
    asked = {*named, *summed}
    for measure in (own for number, own in enumerate(schema.measures) if number in asked):
        if not (measure.has_null or measure.missing_as is not None):
            continue
        low, high = measure.bounds
        note = (
            f"values of {measure.name} outside of [{low:g}, {high:g}] count as the nearer bound; "
            "reports cannot tell how many there are"
        )
        if measure.missing_as is not None:
            note += (
                f". A missing one counts as {measure.missing_as:g} (required = true), and "
                f"COUNT({measure.name}) counts everybody"
            )
        notes.append(note)
    return notes


def _on_orders(plan: QueryPlan) -> list[str]:
    """Notes on quantiles of bins, and on several quantiles at once."""
    schema, notes = plan.survey.schema, dict[str, None]()
    leaves = [leaf for column in plan.query.columns for leaf in aggregates(column.expression)]
    for leaf in leaves:
        kind = find_aggregate(leaf.function)
        if kind is None or kind.takes not in ("order", "share"):
            continue
        name = leaf.column.column if isinstance(leaf.column, Ranked) else leaf.column
        assert isinstance(name, str | Ordering)
        lowest, highest = ends_of_codes(schema, name)[1:]
        if find_log_scale(schema, name) and kind.names != ("MODE",):
            notes[
                f"{name} is collected in bins on a log scale: a quantile is interpolated within "
                "one, as if people were spread evenly in the logarithm there"
            ] = None
        elif lowest != highest:
            notes[
                f"{name} is collected in bins: a quantile or mode of it is the lower end of one, "
                "and the interval ends at the upper end of one"
            ] = None
        if isinstance(leaf.column, Ranked) and len(leaf.column.together) > 1:
            shares = ", ".join(f"{share:g}" for share in leaf.column.together)
            notes[
                f"the intervals of {leaf.function}({name}, [{shares}]) hold together at their level"
            ] = None
    return list(notes)


def _on_joins(plan: QueryPlan) -> list[str]:
    """A note for every join in which a person may have several rows."""
    found = ((join, find_dimension(plan.schema, join.number)) for join in plan.query.joins)
    return [
        f"up to {plan.schema.dimensions[index].size} rows of {join.alias} match one person, who "
        "counts once for each"
        for join, index in found
        if index is not None
    ]


def _on_keys(plan: QueryPlan) -> list[str]:
    """A note where a query asks for values of dimensions alone."""
    schema = plan.survey.schema
    if plan.query.columns or not any(key.is_private(schema) for key in plan.query.keys):
        return []
    return ["these are declared values: reports cannot tell which of them anybody has"]


def _on_bins(plan: QueryPlan) -> list[str]:
    """A note for every key that is a dimension in bins, with the first that holds several values:
    a row of the value 17 may be one of all values from 17 to 29."""
    schema, notes = plan.survey.schema, dict[str, None]()
    for key in plan.query.keys:
        index = find_dimension(schema, key.column)
        if index is None or key.scalar is not None or key.width is not None:
            continue
        domain = schema.dimensions[index].domain
        if is_listed_out(domain):
            continue
        bins = ((value, extent(domain, c, c + 1)) for c, value in enumerate(domain_labels(domain)))
        value, values = next(each for each in bins if str(each[0]) != each[1])
        notes[
            f"{key.column} is collected in bins, each shown by its lower end: {value} is {values}"
        ] = None
    return list(notes)


def _on_days(plan: QueryPlan) -> list[str]:
    """A note where moments are compared with a day, which is its midnight."""
    ends = dict.fromkeys(
        (atom.column, f"{'<=' if atom.op == '<' else '>'} '{as_day(atom.literal)}'")
        for atom in plan.query.atoms
        if isinstance(atom, Comparison) and atom.ends_day
    )
    return [
        f"{column} {text} compares with the midnight at which that day begins, a moment that "
        f"counts with the rest of its bin; for the whole day write CAST({column} AS DATE) {text}"
        for column, text in ends
    ]


def _on_periods(plan: QueryPlan) -> list[str]:
    """A note where a query adds up answers that one person gave in several periods."""
    survey = plan.survey
    columns = {name.lower() for key in plan.query.keys for name in key.columns}
    for atom in plan.query.atoms:
        names = atom.columns if isinstance(atom, Scalar) else (atom.column,)
        columns.update(name.lower() for name in names)
    if survey.schedule.period is None or PERIOD_COLUMN.name in columns:
        return []
    return [
        f"{survey.table} is answered once a {survey.schedule.period}, and a person counts in each "
        f"of them; GROUP BY {PERIOD_COLUMN.name}, or name one in WHERE"
    ]


def notes_on_year(survey: Survey) -> list[str]:
    """What the answers of a year cost a person, and who was asked, for a survey with periods."""
    if (year := sum_of_year(survey)) is None:
        return []
    every, period = survey.schedule.sample, survey.schedule.period
    sample = (
        f"one in {every} people is asked each {period}, and counts for {every}; " if every else ""
    )
    return [f"{survey.table}: {sample}of one person's answers {year}"]


def _list_compared(plan: QueryPlan) -> Iterator[tuple[str, str, Value | None]]:
    """Column, operator and literal of every comparison; IN compares with each of its values."""
    for atom in plan.query.atoms:
        if isinstance(atom, Comparison):
            yield atom.column, atom.op, atom.literal
        elif isinstance(atom, Membership):
            yield from ((atom.column, "=", literal) for literal in atom.literals)


def _on_domains(plan: QueryPlan) -> list[str]:
    """A note for every dimension that is compared with values outside of its domain."""
    schema, found = plan.survey.schema, dict[tuple[str, str], dict[str, None]]()
    for column, op, literal in _list_compared(plan):
        index = find_dimension(schema, column)
        if index is None or literal is None:
            continue
        domain = schema.dimensions[index].domain
        if is_outside(domain, op, literal):
            who = "everybody" if match_codes(domain, op, literal) else "nobody"
            shown = repr(literal) if isinstance(literal, str) else str(literal)
            extent = f"{column} is declared for {describe_extent(domain)}"
            found.setdefault((extent, who), {})[f"{column} {op} {shown:.40}"] = None
    notes = []
    for (extent, who), texts in found.items():
        listed = list_some(list(texts), _LISTED)
        notes.append(f"{extent}, so {listed} hold{'s' * (len(texts) == 1)} for {who}")
    return notes


def public_texts(plan: QueryPlan) -> dict[str, str]:
    """The texts that public columns are compared with: a condition that a report with such a value
    meets, by the value in words. Public columns have no declared values, so nothing is refused."""
    schema, found = plan.survey.schema, dict[str, str]()
    for column, op, literal in _list_compared(plan):
        public = find_public_column(schema, column)
        is_text = public is not None and public.type == "text" and isinstance(literal, str)
        if is_text and op in ("=", "<>"):
            found[f"{column} {literal!r:.40}"] = f"{quote(column)} = {sql_literal(literal)}"
    return dict(list(found.items())[:_MOST_SOUGHT])


def _on_nobody(plan: QueryPlan) -> list[str]:
    """A note where no declared values satisfy WHERE, mostly because a text in it is misspelt that
    is compared with an expression, or with a column of a look-up table."""
    predicate = plan.query.predicate
    is_empty = not any(part.boxes for part in plan.slices)
    if predicate is None or not is_empty or next(iter(atoms(predicate)), None) is None:
        return []
    return ["no declared values satisfy WHERE, so it holds for nobody; is all in it spelt right?"]


def notes_on_estimator(relation: Relation, estimator: str) -> list[str]:
    """Notes on an estimator that is not unbiased, and on promises that are not made to people."""
    survey, design = relation.plan.survey, relation.plan.survey.design
    notes = []
    if relation.sums.replicates is not None:
        notes.append(
            f"{survey.table}: values are post-processed; ± is the interval of the unbiased "
            "estimate around them, (typ. x) the error that simulations say is typical"
        )
    bias = design.biases.get(estimator)
    if bias is not None:
        notes.append(f"{survey.table}: estimator {estimator} is biased: {bias.text}")
    if survey.guarantee.kind == "none":
        notes.append(f"{survey.table}: {design.guarantee} ({design.name})")
    return notes


# -- signs of forged reports ----------------------------------------------------------------------


def impossible_sums(relation: Relation, people: int, estimator: str) -> list[str]:
    """A note where unbiased sums lie far outside of what so many people can add up to.

    Sums of public columns are left out: what they can add up to is in the reports themselves.
    """
    plan, design = relation.plan, relation.plan.survey.design
    if estimator in design.biases:
        return []
    variances = np.diagonal(relation.sums.covariance, axis1=1, axis2=2)
    rows: set[int] = set()
    every = plan.survey.schedule.sample or 1
    for place, target in enumerate(plan.targets):
        if target.weight is not None:
            continue
        least, most = (end * people * every for end in ends_of(plan, place))
        values = relation.sums.values[:, place]
        beyond = np.maximum(least - values, values - most)
        far = np.flatnonzero(_is_far(beyond, variances[:, place], most - least))[:_MOST_SUSPECTS]
        if far.size:
            expected = every**2 * _expect_variances(relation, far, place, people)
            rows.update(far[_is_far(beyond[far], expected, most - least)].tolist())
    if not rows:
        return []
    hold = f"{pluralize(len(rows), 'row')} {'holds' if len(rows) == 1 else 'hold'}"
    return [
        f"{hold} estimates more than {SUSPICIOUS:g} standard errors outside of what {people:,} "
        "people can add up to"
    ]


def _is_far(beyond: Array, variances: Array, span: float) -> NDArray[np.bool_]:
    """Whether estimates lie further beyond what is possible than chance, and rounding, take them.

    span: from the least to the most that is possible.
    """
    room = SUSPICIOUS * np.sqrt(np.maximum(variances, 0.0)) + _ROUNDING * span
    return np.asarray(beyond > room)


def _expect_variances(relation: Relation, rows: Integers, place: int, people: int) -> Array:
    """Variances of one sum in some rows if so many people were spread evenly, shape (rows,).

    Of few reports, or where most reports tell the truth, an estimated variance may by chance be
    next to nothing; what was to be expected is not.
    """
    plan = relation.plan
    private = [row % len(plan.private_rows) for row in rows.tolist()]
    by_slice = [
        plan.survey.design.variance([piece[row][place] for row in private], people)
        for piece in plan.planned
    ]
    return np.asarray(np.max(by_slice, axis=0))


def tell_harm(
    outputs: Sequence[Output], forged: Mapping[int, tuple[float, float]], people: int
) -> str:
    """How far a share of forged reports could have moved the column that they move most, by what
    one of them can do; nothing where that is not known."""
    known = {place: max(abs(end) for end in ends) for place, ends in forged.items()}
    known = {place: most for place, most in known.items() if np.isfinite(most)}
    if not known:
        return ""
    place = max(known, key=known.__getitem__)
    moved = significant(_FORGED * people * known[place])
    return f"if {_FORGED:.0%} of them are forged, {outputs[place].name:.60} can be off by {moved}"


# -- small batches --------------------------------------------------------------------------------


def guarantee_of_batches(survey: Survey, smallest: int | None) -> StatedGuarantee:
    """The promise to each person and the one that was kept; smallest: reports of the smallest
    batch, or None."""
    trust = survey.shuffled
    if trust is None or smallest is None or smallest >= trust.users:
        return survey.guarantee
    epsilon, people = find_epsilon(survey.design, trust, smallest), trust.people_of(smallest)
    if epsilon is None or people < 2 or epsilon >= survey.epsilon.value:
        return replace(survey.guarantee, central=None)
    return replace(survey.guarantee, central=Central(Epsilon(epsilon), trust.central.delta, people))


def shortfall_notes(survey: Survey, got: StatedGuarantee) -> list[str]:
    """A note for whoever reads an answer, where a batch was smaller than designed."""
    if got == survey.guarantee:
        return []
    promise = "no more than the local promise" if got.central is None else str(got.central)
    return [
        f"{survey.table}: a batch was smaller than designed, and the promise is {promise}, not "
        f"{survey.guarantee.central}"
    ]
