"""The usual charts of a survey with periods: which charts there are, and the SQL behind each.

A listed column becomes the shares of its values, a yes-or-no column the share of yes, a number its
quantiles over the installations, a measure its average, a public column its counts. The charts are
made of ordinary statements, so a reader who doubts one can ask it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from ldpsql.engine.collector import Answering
from ldpsql.engine.result import Result
from ldpsql.sql.quoting import literal, quote
from ldpsql.survey import Survey
from ldpsql.wording.numbers import Figure, plain
from ldpsql_device.description import name_with_label
from ldpsql_device.errors import DataError, NotSupportedError, ProgrammingError
from ldpsql_device.schema import PublicColumn
from ldpsql_device.survey import PERIOD_COLUMN
from ldpsql_device.values import Listed, Value

PERIOD = PERIOD_COLUMN.name
MOST_VALUES = 8
"""Values of a column that have a line of their own."""
_QUANTILES = {"median": "0.5", "95th percentile": "0.95"}
_OTHERS = "(others)"

Figures = Mapping[date, Figure]


@dataclass(frozen=True)
class Timeline:
    """One chart. unit: of its numbers.  lines: by label, the figures of each line, by the first
    days of periods.  notes: what a reader should know.  sql: what was asked."""

    title: str
    unit: str
    lines: Mapping[str, Figures]
    notes: Sequence[str] = ()
    sql: str = ""


@dataclass(frozen=True)
class Charts:
    """All charts of a survey. level: of the intervals.  periods: their first days, ascending.
    hidden: how many periods have too few people.  refused: charts that there cannot be, and why."""

    survey: Survey
    level: float
    periods: Sequence[date]
    timelines: Sequence[Timeline]
    hidden: int
    refused: Mapping[str, str]


def chart_survey(
    session: Answering, survey: Survey, today: date, *, most: int, min_people: int
) -> Charts:
    """Ask for the usual charts of a survey, of the latest periods that have ended.

    most: how many of them at most.  min_people: periods, and combinations of a period and a public
    value, of fewer people are not shown by themselves.  DataError for a survey without periods, and
    for one with no period to show; other errors are those of `Session.execute`.
    """
    if survey.schedule.period is None:
        raise DataError(
            f"survey {survey.table} is answered once, so there is nothing to draw over time; ask "
            'it with SQL, or design one with period = "week"'
        )
    running = survey.schedule.period_of(today)
    ended = f"FROM {survey.table} WHERE {PERIOD} < {literal(running)}"
    sql = f"SELECT {PERIOD}, COUNT(*) AS people {ended} GROUP BY {PERIOD} ORDER BY {PERIOD}"
    counted = session.execute(sql)
    people = _lines(counted)["people"]
    # Each one who is asked counts for so many.
    least = min_people * (survey.schedule.sample or 1)
    enough = [day for day, figure in people.items() if figure.value >= least][-most:]
    if not enough:
        raise DataError(
            f"survey {survey.table} has no period that has ended and that at least "
            f"{max(min_people, 1):,} people answered; wait for one, or lower --min-people"
        )
    hidden = sum(day >= enough[0] and day not in enough for day in people)
    own = f"{survey.table} WHERE {PERIOD} IN ({', '.join(map(literal, enough))})"
    first = Timeline(
        "Installations that answered",
        "installations",
        {"answered": {day: people[day] for day in enough}},
        counted.notes,
        sql,
    )
    found, refused = [first], dict[str, str]()
    for title, unit, asked in _choose(session, survey, own, enough[-1]):
        try:
            result = session.execute(asked)
        except (ProgrammingError, NotSupportedError) as error:
            refused[title] = str(error)
            continue
        found.append(Timeline(title, unit, _lines(result), result.notes, asked))
    for column in survey.schema.public:
        if column.name != PERIOD and column.type in ("text", "bool"):
            found.append(_count_public(session, survey, column, own, least))
    return Charts(survey, counted.level, enough, found, hidden, refused)


def compare_last(
    charts: Charts, respondents: Charts
) -> Iterator[tuple[str, str, Figure, Figure, Figure]]:
    """For every line with figures in both of the last two periods: the title of its chart, its
    label, the two figures, and their difference.

    respondents: the same charts, of these periods, about those who answered and nobody else; what
    is drawn where different people answered in each period. The interval of a difference combines
    those of both figures (Donner and Zou 2012, MOVER), as for independent answers. The randomness
    of reports is independent; who the people are is not, where the same ones answer in both
    periods, and it plays no part among those who answered.
    """
    if len(charts.periods) < 2:
        return
    before, last = charts.periods[-2:]
    alike = {timeline.title: timeline.lines for timeline in respondents.timelines}
    for timeline in charts.timelines:
        for label, figures in timeline.lines.items():
            own = alike.get(timeline.title, {}).get(label, {})
            if figures.keys() & own.keys() >= {before, last}:
                difference = _subtract(own[last], own[before])
                yield timeline.title, label, figures[before], figures[last], difference


def _subtract(new: Figure, old: Figure) -> Figure:
    value = new.value - old.value
    below = math.hypot(new.value - new.low, old.high - old.value)
    above = math.hypot(new.high - new.value, old.value - old.low)
    return Figure(value, math.hypot(new.stderr, old.stderr), value - below, value + above)


def _choose(
    session: Answering, survey: Survey, own: str, last: date
) -> Iterator[tuple[str, str, str]]:
    """The title, unit and statement of each chart of private columns."""
    schema, labels = survey.schema, survey.schema.labels
    counted = [d.name for d in schema.dimensions if (d.event or "").startswith(("count", "days"))]
    if counted:
        shares = {name: _share(f"{name} > 0") for name in counted}
        yield "Active", "% of installations", _grouped(own, shares)
    features = [d for d in schema.dimensions if d.domain.type == "bool"]
    if features:
        yield (
            "Used",
            "% of installations",
            _grouped(own, {d.name: _share(f"{d.name} = TRUE") for d in features}),
        )
    for dimension in schema.dimensions:
        title = name_with_label(dimension.name, labels.get(dimension.name))
        if isinstance(dimension.domain, Listed) and dimension not in features:
            values = _top_values(session, survey, dimension.name, dimension.domain.values, last)
            shares = {plain(v): _share(f"{dimension.name} = {literal(v)}") for v in values}
            yield title, "% of installations", _grouped(own, shares)
        elif dimension.domain.type in ("int", "float"):
            quantiles = {
                each: f"QUANTILE_CONT({dimension.name}, {share})"
                for each, share in _QUANTILES.items()
            }
            yield title, "of all installations", _grouped(own, quantiles)
    for measure in schema.measures:
        if not any(measure.name == dimension.name for dimension in schema.dimensions):
            title = name_with_label(measure.name, labels.get(measure.name))
            yield title, "average", _grouped(own, {"average": f"AVG({measure.name})"})


def _top_values(
    session: Answering, survey: Survey, name: str, values: Sequence[Value], last: date
) -> Sequence[Value]:
    """The values that have a line: all of them, or the most frequent of the last period."""
    if len(values) <= MOST_VALUES:
        return values
    ranked = session.execute(
        f"SELECT {name}, COUNT(*) AS people FROM {survey.table} WHERE {PERIOD} = "
        f"{literal(last)} GROUP BY 1 ORDER BY 2 DESC LIMIT {MOST_VALUES + 2}"
    )
    found = [value for value in ranked.table.column(0).to_pylist() if value is not None]
    return [value for value in found if value in values][:MOST_VALUES]


def _share(condition: str) -> str:
    return f"100.0 * COUNT(*) FILTER (WHERE {condition}) / COUNT(*)"


def _grouped(own: str, columns: Mapping[str, str]) -> str:
    shown = ", ".join(f"{sql} AS {quote(label)}" for label, sql in columns.items())
    return f"SELECT {PERIOD}, {shown} FROM {own} GROUP BY {PERIOD} ORDER BY {PERIOD}"


def _lines(result: Result) -> dict[str, dict[date, Figure]]:
    """By name, the columns after the first one, which is the period."""
    days, names = result.table.column(0).to_pylist(), result.table.column_names
    return {
        names[place]: {
            day: figure
            for day, figure in zip(days, _figures(result, place), strict=True)
            if figure is not None
        }
        for place in range(1, len(names))
    }


def _figures(result: Result, place: int) -> Sequence[Figure | None]:
    """The numbers of a column; plain counts, which are not estimates, have no error."""
    if place in result.intervals:
        return result.figures(place)
    values = result.table.column(place).to_pylist()
    return [None if v is None else Figure(float(v), 0.0, float(v), float(v)) for v in values]


def _count_public(
    session: Answering, survey: Survey, column: PublicColumn, own: str, least: int
) -> Timeline:
    """How many people had each public value. Small groups of a period are joined. Where these could
    be found by subtraction from everybody, the smallest large group joins them."""
    sql = (
        f"SELECT {PERIOD}, {column.name}, COUNT(*) AS people FROM {own} GROUP BY ALL "
        f"ORDER BY {PERIOD}, people DESC"
    )
    result = session.execute(sql)
    days, values = (result.table.column(place).to_pylist() for place in (0, 1))
    groups: dict[date, list[tuple[str, Figure]]] = {}
    for day, value, figure in zip(days, values, _figures(result, 2), strict=True):
        if figure is not None:
            groups.setdefault(day, []).append((_name(value), figure))
    ranked = (
        label
        for day in sorted(groups, reverse=True)
        for label, figure in groups[day]
        if figure.value >= least
    )
    shown = [*dict.fromkeys(ranked)][:MOST_VALUES]
    kept = {day: _join_small(own, least, shown) for day, own in groups.items()}
    lines = {
        label: {day: own[label] for day, own in kept.items() if label in own}
        for label in [*shown, _OTHERS]
    }
    lines = {label: figures for label, figures in lines.items() if figures}
    title = name_with_label(column.name, survey.schema.labels.get(column.name))
    return Timeline(title, "installations", lines, result.notes, sql)


def _name(value: Value | None) -> str:
    """A public value as the name of a line, which no other one has."""
    label = plain(value)
    is_like = label in (plain(None), _OTHERS) or label.startswith('"')
    return f'"{label}"' if is_like and isinstance(value, str) else label


def _join_small(
    groups: Sequence[tuple[str, Figure]], least: int, shown: Sequence[str]
) -> dict[str, Figure]:
    """The groups of one period, largest first, by label.  shown: those that may have a line."""
    large = [each for each in groups if each[0] in shown and each[1].value >= least]
    small = [each for each in groups if each not in large]
    while small and large and (sum(f.value for _, f in small) < least or len(small) < 2):
        small.append(large.pop())
    found = dict(large)
    if small and sum(figure.value for _, figure in small) >= least:
        found[_OTHERS] = _sum_of([figure for _, figure in small])
    return found


def _sum_of(figures: Sequence[Figure]) -> Figure:
    total = sum(figure.value for figure in figures)
    error = math.hypot(*(figure.stderr for figure in figures))
    half = math.hypot(*((figure.high - figure.low) / 2 for figure in figures))
    return Figure(total, error, total - half, total + half)
