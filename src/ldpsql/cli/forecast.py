"""The errors to expect, as `design` prints them: of the survey, of others, and of other plans."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ldpsql.algebra.estimate import CONFIDENCE, quantile
from ldpsql.designer import DesignedSurvey
from ldpsql.designer.auto import Ranking, Trial
from ldpsql.designer.forecast import least_users
from ldpsql.designer.predicates import find_costs
from ldpsql.mechanisms.fourier.group import Spectral, is_coarse
from ldpsql.terminal.text import WIDTH, cut, fill, labelled_lines, table_lines
from ldpsql.wording.numbers import about, significant
from ldpsql_device.epsilon import LARGEST_EPSILON
from ldpsql_device.errors import Error

_MOST_KINDS, _MOST_COLUMNS = 12, 6  # kinds of queries: lines of a forecast, columns of a comparison
_HEADING = 14  # letters of a heading's line
_HALF = quantile(CONFIDENCE)  # of an interval, in standard errors: what ± means everywhere
_NO_MATTER = 0.02
_LEVEL = f"{100 * CONFIDENCE:g} %"


def expectations(
    designed: DesignedSurvey, half_width: float | None, *, is_asked: bool, is_verbose: bool
) -> list[str]:
    """Lines: what is expected, what a wanted half-width takes, and what was compared.

    half_width: of a typical count, as a share of the people, or None.  is_asked: whether the errors
    of a survey are wanted whose mechanism was not chosen by them; if not it is said how far it is
    from the best.  is_verbose: whether all mechanisms are listed that were compared.
    """
    ranking = designed.ranking
    lines, facts = list[str](), list[tuple[str, str]]()
    try:
        if ranking or is_asked:
            lines += forecast(designed)
        facts += distance(designed)
        if (ranking or is_asked) and (forged := designed.forecast.find_forged()):
            moved = [
                f"{what} by up to {significant(most)}{' people' if not place else ''}"
                for place, (what, most) in enumerate(forged)
            ]
            facts.append(
                ("forged", f"one forged report can move {', '.join(moved)}, whoever sends it")
            )
    except Error as error:
        facts.append(("warning", f"the error of the whole workload cannot be predicted: {error}"))
    lines += labelled_lines([*facts, *predicates(designed)])
    if half_width is not None:
        lines += plan(designed, half_width)
    return lines + (comparison(ranking, designed.people) if ranking and is_verbose else [])


def choice(ranking: Ranking) -> str:
    """How the best mechanism was chosen."""
    best, *others = ranking.ranked
    if not others:
        return f"chosen by auto: the only one of {1 + len(ranking.left_out)} that fits (-v: why)"
    ratio = others[0].forecast.error / best.forecast.error
    return (
        f"chosen by auto: the least expected error of {len(ranking.ranked)} that were compared "
        f"(next: {others[0].name}, {ratio:.2f} times as much; -v: all)"
    )


def forecast(designed: DesignedSurvey) -> list[str]:
    """Lines: the expected interval of every kind of query and of averages, and of a class that
    counts by what it could have alone, how far it is from that.

    Sums, and averages, are those about the middle of the measure's bounds.
    """
    entries = designed.forecast.expect_errors(_MOST_KINDS)
    ratios: dict[str, list[float]] = {}
    for each in designed.distances:
        for key in {each.text, each.group}:
            ratios.setdefault(key, []).append(each.ratio)
    # What stands in no row has no column.
    has_averages = any(entry.average is not None for entry in entries)

    def half_of(error: float | None) -> str:
        return "" if error is None else f"± {significant(_HALF * error)}"

    rows = [
        [
            half_of(entry.error),
            f"{_in_short(100 * _HALF * entry.share)} %",
            *([half_of(entry.average)] if has_averages else []),
            *([_times(ratios.get(entry.text, []))] if ratios else []),
        ]
        for entry in entries
    ]
    head = ["interval", "of all", *["average"] * has_averages, *["of least"] * bool(ratios)]
    right = [True] * len(head)
    room = WIDTH - 4 - max(map(len, table_lines(head, rows, right)))
    questions = [cut(entry.text, room) for entry in entries]
    table = table_lines(
        ["question", *head],
        [[text, *row] for text, row in zip(questions, rows, strict=True)],
        [False, *right],
    )
    limits = dict.fromkeys(entry.limit for entry in entries)
    legend = [f"of all: of {' or '.join(limits)}"]
    legend += ["average: of the same people"] * has_averages
    legend += ["of least: times what a survey of this question alone could have"] * bool(ratios)
    return [
        *fill(f"expected with {designed.people:,} people, ± being half of a {_LEVEL} interval:"),
        *(f"  {line}" for line in table),
        *fill("; ".join(legend), indent="  "),
    ]


def _in_short(number: float) -> str:
    """Two significant digits, without an exponent where there are more before the point."""
    return f"{number:.2g}" if number < 99.5 else f"{number:.0f}"


def _times(ratios: list[float]) -> str:
    """Of one class, or the smallest and the largest of several; nothing where it is unknown."""
    ends = list(dict.fromkeys(f"{end:.2f}" for end in (min(ratios), max(ratios)))) if ratios else []
    return " to ".join(ends) + (" x" if ends else "")


def distance(designed: DesignedSurvey) -> list[tuple[str, str]]:
    """The least error that any survey can have, and how far this one is from it.

    Nothing where `DesignedSurvey.bound` is unknown, or there is nothing to tell.
    """
    bound = designed.bound
    ratio = None if bound is None else designed.forecast.ratio(bound)
    if bound is None or ratio is None:
        return []
    least = significant(_HALF * math.sqrt(bound * designed.people))
    # Predicted errors leave out what bins may be off by, so a coarse design can be below.
    own = f"is at {ratio:.2f} of it"
    if is_coarse(designed.forecast.design):
        own = "cannot be held against it, because its bins answer with a bias"
    text = (
        f"no {designed.survey.epsilon}-LDP survey with unbiased answers can do better than "
        f"± {least} on the whole workload with {designed.people:,} people; this one {own}"
    )
    return [("the bound", text)]


def predicates(designed: DesignedSurvey) -> list[tuple[str, str]]:
    """The cost of other numbers of predicates; nothing where that is not known."""
    if not isinstance(designed.survey.design, Spectral):
        return []
    costs = find_costs(designed.workload, is_fair=designed.is_fair)
    others = [
        f"{_in_short(cost)} times with {most}"
        for most, cost in costs.items()
        if abs(math.log(cost)) > _NO_MATTER
    ]
    if not others:
        return []
    text = "max_predicates changes the error of a count with one predicate, to about "
    return [("predicates", text + ", ".join(others))]


def plan(designed: DesignedSurvey, half_width: float) -> list[str]:
    """Lines: what the wanted half-width of a typical count takes.

    half_width: of its interval, as a share of the people.
    """
    survey, people, expected = designed.survey, designed.people, designed.forecast
    # Fewer than the promise for shuffled reports was made for would void it.
    users = max(least_users(expected, half_width), survey.shuffled.users if survey.shuffled else 1)
    epsilon = designed.epsilon_for(half_width)
    promised = survey.epsilon if survey.shuffled is None else f"{survey.shuffled.epsilon} (central)"
    smallest = f"epsilon {epsilon} is the smallest that is enough"
    if epsilon is None:
        smallest = f"no epsilon up to {LARGEST_EPSILON} is enough; ask more people"
    wanted, reached = (f"±{significant(100 * s)}%" for s in (half_width, expected.half_width))
    return [
        *fill(
            f"a typical count to within {wanted} of the people ({_LEVEL} interval), "
            f"{survey.design.name}:"
        ),
        f"  {people:,} people, epsilon {promised}: {reached}",
        f"  {people:,} people: {smallest}",
        f"  epsilon {promised}: {about(users)} people are enough",
    ]


def comparison(ranking: Ranking, people: int) -> list[str]:
    """Lines: one row per mechanism, the chosen one first, its options, and what was left out and
    why."""
    ranked = ranking.ranked
    kinds = [entry.text for entry in ranking.best.forecast.expect_errors(_MOST_COLUMNS)]
    if len(kinds) > _MOST_COLUMNS:
        kinds = []
    has_bound = ranking.best.forecast.ratio(ranking.bound) is not None
    table: list[str] = []
    # Kinds as there is room for.
    for shown in range(len(kinds), -1, -1):
        errors = ["whole workload", *kinds[:shown], *(["of least"] if has_bound else []), "bits"]
        head, right = ["mechanism", *errors, "guarantee"], [False, *[True] * len(errors), False]
        rows = [_row(candidate, ranking, shown) for candidate in ranked]
        table = [f"  {each}" for each in table_lines(head, rows, right, heading_width=_HEADING)]
        if max(map(len, table)) <= WIDTH:
            break
    lines = fill(f"± expected with {people:,} people ({_LEVEL} intervals), by mechanism:") + table
    facts = [("options", names) for names in _options(ranked)]
    coarse = [candidate.name for candidate in ranked if is_coarse(candidate.forecast.design)]
    if coarse:
        facts.append(
            (
                "not in these",
                f"{', '.join(coarse)} counts the people of a coarse bin as spread evenly in it; "
                "where a range ends inside one, it can be off by some of them",
            )
        )
    alike: dict[str, list[str]] = {}  # a reason may begin with the mechanism's name
    for name, reason in ranking.left_out.items():
        alike.setdefault(reason.removeprefix(name).lstrip(": "), []).append(name)
    facts += [("left out", f"{', '.join(names)}: {reason}") for reason, names in alike.items()]
    return lines + labelled_lines(facts)


def _options(ranked: Sequence[Trial]) -> list[str]:
    """Those that are not the defaults, with the mechanisms that have them."""
    alike: dict[str, list[str]] = {}
    for candidate in ranked:
        if candidate.options:
            text = ", ".join(f"{key} {value}" for key, value in candidate.options.items())
            alike.setdefault(text, []).append(candidate.name)
    return [f"{', '.join(names)}: {text}" for text, names in alike.items()]


def _row(candidate: Trial, ranking: Ranking, kinds: int) -> list[str]:
    forecast, design = candidate.forecast, candidate.forecast.design
    shown = forecast.expect_errors(_MOST_COLUMNS)[:kinds]
    ratio = forecast.ratio(ranking.bound)
    return [
        candidate.name,
        significant(_HALF * forecast.error),
        *(significant(_HALF * entry.error) for entry in shown),
        *([] if ratio is None else [f"{ratio:.2f}"]),
        f"{design.report_format.bits_per_report:.1f}",
        str(design.guarantee),
    ]
