"""What `design` says of the errors to expect: of the survey, of others, and of other plans."""

from __future__ import annotations

import math

from ldpsql.designer import DesignedSurvey
from ldpsql.designer.auto import Candidate, Ranking
from ldpsql.designer.forecast import least_users
from ldpsql.designer.predicates import find_costs
from ldpsql.estimate import CONFIDENCE, quantile
from ldpsql.figures import about, significant
from ldpsql.text import table_lines
from ldpsql_device.epsilon import LARGEST_EPSILON
from ldpsql_device.errors import Error

_MOST_KINDS, _MOST_COLUMNS = 12, 6  # kinds of queries: lines of a forecast, columns of a comparison
_HEADING = 14  # letters of a heading's line
_HALF = quantile(CONFIDENCE)  # of an interval, in standard errors: what ± means everywhere
_NO_MATTER = 0.02
_LEVEL = f"{100 * CONFIDENCE:g} %"


def expectations(
    designed: DesignedSurvey, half_width: float | None, *, is_asked: bool
) -> list[str]:
    """Lines: what was compared, what is expected, and what a wanted half-width takes.

    half_width: of a typical count, as a share of the people, or None.  is_asked: whether the errors
    of a survey are wanted whose mechanism was not chosen by them; if not there is a line on how far
    it is from the best.
    """
    ranking = designed.ranking
    lines = comparison(ranking, designed.people) if ranking else []
    try:
        lines += forecast(designed) if ranking or is_asked else distance(designed)
        forged = designed.forecast.find_forged() if ranking or is_asked else None
        if forged is not None:
            lines.append(
                "one forged report can move a typical count by up to "
                f"{significant(forged)} people, whoever sends it"
            )
    except Error as error:
        lines.append(f"warning      no error is expected for the whole workload: {error}")
    lines += predicates(designed)
    return lines if half_width is None else lines + plan(designed, half_width)


def forecast(designed: DesignedSurvey) -> list[str]:
    """Lines: the expected interval of every kind of query, and how far it is from the best; of a
    class that counts by what it could have alone, also how far it is from that.

    Sums are those about the middle of the measure's bounds, which is what an average needs.
    """
    entries = designed.forecast.expect_errors(_MOST_KINDS)
    room = max(len(significant(_HALF * entry.error)) for entry in entries)
    ratios: dict[str, list[float]] = {}
    for each in designed.distances:
        for key in {each.text, each.group}:
            ratios.setdefault(key, []).append(each.ratio)
    first, *others = [
        [
            f"  {entry.text}",
            f"± {significant(_HALF * entry.error):>{room}}",
            f"({_in_short(100 * _HALF * entry.share)}% of {entry.limit})",
            *([_times(ratios.get(entry.text, []))] if ratios else []),
        ]
        for entry in entries
    ]
    head = f"expected {_LEVEL} intervals with {designed.people} people:"
    if ratios:
        head = head.removesuffix(":") + ", and how many times the least that a survey of these "
        head += "questions alone could have:"
    lines = table_lines(first, others, [False] * len(first))
    return [head, *(line.rstrip() for line in lines), *distance(designed)]


def _in_short(number: float) -> str:
    """Two significant digits, without an exponent where there are more before the point."""
    return f"{number:.2g}" if number < 99.5 else f"{number:.0f}"


def _times(ratios: list[float]) -> str:
    """Of one class, or the smallest and the largest of several; nothing where it is unknown."""
    ends = list(dict.fromkeys(f"{end:.2f}" for end in (min(ratios), max(ratios)))) if ratios else []
    return " to ".join(ends) + (" x" if ends else "")


def distance(designed: DesignedSurvey) -> list[str]:
    """A line: the least error that any survey can have, and how far this one is from it.

    No line where `DesignedSurvey.bound` is unknown, or there is nothing to tell.
    """
    bound = designed.bound
    ratio = None if bound is None else designed.forecast.ratio(bound)
    if bound is None or ratio is None:
        return []
    least = significant(_HALF * math.sqrt(bound * designed.people))
    return [
        f"no {designed.survey.epsilon}-LDP survey with unbiased answers can do better than "
        f"± {least} ({_LEVEL} interval) on the whole workload with {designed.people} people; this "
        f"one is at {ratio:.2f} of it"
    ]


def predicates(designed: DesignedSurvey) -> list[str]:
    """A line: what other numbers of predicates would cost; none where that is not known."""
    if designed.survey.design.spectral_information is None:
        return []
    costs = find_costs(designed.workload, is_fair=designed.is_fair)
    others = [
        f"{_in_short(cost)} times with {most}"
        for most, cost in costs.items()
        if abs(math.log(cost)) > _NO_MATTER
    ]
    if not others:
        return []
    return [
        "max_predicates changes the error of a count with one predicate, to about "
        + ", ".join(others)
    ]


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
        f"a typical count to within {wanted} of the people ({_LEVEL} interval), "
        f"{survey.design.name}:",
        f"  {people} people, epsilon {promised}: {reached}",
        f"  {people} people: {smallest}",
        f"  epsilon {promised}: {about(users)} people are enough",
    ]


def comparison(ranking: Ranking, people: int) -> list[str]:
    """Lines: one row per mechanism, the chosen one first, and what was left out and why."""
    kinds = [entry.text for entry in ranking.best.forecast.expect_errors(_MOST_COLUMNS)]
    if len(kinds) > _MOST_COLUMNS:
        kinds = []
    has_bound = ranking.best.forecast.ratio(ranking.bound) is not None
    errors = ["whole workload", *kinds, *(["of least"] if has_bound else []), "bits", "rounds"]
    head = ["mechanism", *errors, "guarantee", "options"]
    right = [False, *[True] * len(errors), False, False]
    rows = [_row(candidate, ranking, len(kinds)) for candidate in ranking.ranked]
    lines = [f"expected ± of {_LEVEL} intervals with {people} people, by mechanism:"]
    lines += [f"  {line}" for line in table_lines(head, rows, right, heading_width=_HEADING)]
    coarse = [candidate.name for candidate in ranking.ranked if candidate.forecast.design.is_coarse]
    if coarse:
        lines.append(
            f"  not in these errors: {', '.join(coarse)} counts the people of a coarse bin as "
            "spread evenly in it; where a range ends inside one, it can be off by some of them"
        )
    alike: dict[str, list[str]] = {}  # a reason may begin with the mechanism's name
    for name, reason in ranking.left_out.items():
        alike.setdefault(reason.removeprefix(name).lstrip(": "), []).append(name)
    return lines + [f"  left out: {', '.join(names)}: {reason}" for reason, names in alike.items()]


def _row(candidate: Candidate, ranking: Ranking, kinds: int) -> list[str]:
    forecast, design = candidate.forecast, candidate.forecast.design
    shown = forecast.expect_errors(_MOST_COLUMNS)[:kinds]
    ratio = forecast.ratio(ranking.bound)
    return [
        candidate.name,
        significant(_HALF * forecast.error),
        *(significant(_HALF * entry.error) for entry in shown),
        *([] if ratio is None else [f"{ratio:.2f}"]),
        f"{design.report_format.bits_per_report:.1f}",
        "1",  # every mechanism of the registry asks a person once
        str(design.guarantee),
        ", ".join(f"{key} {value}" for key, value in candidate.options.items()) or "defaults",
    ]
