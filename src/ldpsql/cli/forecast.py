"""The errors to expect, as `design` prints them: of the survey, of others, and of other plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ldpsql.algebra.estimate import CONFIDENCE, quantile
from ldpsql.designer import DesignedSurvey
from ldpsql.designer.auto import Ranking, Trial
from ldpsql.designer.forecast import least_users
from ldpsql.designer.periods import compare_year
from ldpsql.designer.predicates import find_costs
from ldpsql.designer.verdict import (
    LARGEST,
    LEVEL,
    POWER,
    SHARP,
    USABLE,
    USABLE_AVERAGE,
    VERDICTS,
    Budget,
    Improvement,
    Judged,
    MissingCost,
    find_effects,
    find_missing_cost,
    improve,
    judge_survey,
)
from ldpsql.errors import list_some, pluralize
from ldpsql.mechanisms.fourier.group import Spectral, is_coarse
from ldpsql.terminal.text import WIDTH, cut, fill, labelled_lines, table_lines
from ldpsql.wording.numbers import about, significant
from ldpsql_device.epsilon import LARGEST_EPSILON
from ldpsql_device.errors import Error

_MOST_KINDS, _MOST_COLUMNS = 12, 6  # kinds of queries: lines of a forecast, columns of a comparison
_MOST_EFFECTS = 4
_BRIEFER = ((3, 3), (2, 3), (1, 3), (1, 2), (1, 1), (1, 0))  # lines of a verdict, improvements
_HEADING = 14  # letters of a heading's line
_HALF = quantile(CONFIDENCE)  # of an interval, in standard errors: what ± means everywhere
_NO_MATTER = 0.02
_LEVEL = f"{100 * CONFIDENCE:g} %"


def expectations(designed: DesignedSurvey) -> list[str]:
    """Lines: what is expected of every kind of query, how far that is from the best that can be,
    and what was compared."""
    ranking = designed.ranking
    lines, facts = list[str](), list[tuple[str, str]]()
    try:
        lines += forecast(designed)
        facts += distance(designed)
        if forged := designed.forecast.find_forged():
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
    return lines + (comparison(ranking, designed.people) if ranking else [])


def verdict(
    designed: DesignedSurvey,
    tell: Callable[[str], None] = lambda _: None,
    *,
    difference: float | None = None,
    most_lines: int | None = None,
    is_quick: bool = False,
) -> list[str]:
    """Lines: which questions are answered how well, what missing measures cost, the best
    improvements, and which difference is told.

    tell: is told what is tried.  difference: as of `effects`, or None.  most_lines: of text, as far
    as that can be; None to list everything.  is_quick: less time for what is tried.
    """
    try:
        judged = judge_survey(designed)
    except Error as error:
        words = f"which questions are answered how well is not known: {error}"
        return labelled_lines([("verdict", words)])[:most_lines]
    budget = Budget.of(designed, is_quick=is_quick)
    cost = find_missing_cost(designed, judged, replace(budget, seconds=2.0 * budget.seconds))
    found, untried = improve(designed, judged, budget, tell)
    words = (
        f"with {designed.people:,} people, ± being half of a {_LEVEL} interval, as a share of an "
        f"even answer or of an AVG's range; sharp is up to {_share(SHARP)}, usable up to "
        f"{_share(USABLE)} (AVG: {_share(USABLE_AVERAGE)})"
    )
    told = []
    if difference is not None:
        told = effects(judged, difference, designed.people, is_short=most_lines is not None)
    lines: list[str] = []
    for most, changes in _BRIEFER if most_lines is not None else ((None, len(found)),):
        lines = labelled_lines([("verdict", words)])
        lines += _list_verdicts(judged, most)
        if cost is not None:
            lines += labelled_lines([("missing", _price(cost, most))])
        lines += _list_improvements(found, changes, untried, is_short=most is not None) + told
        if most_lines is None or len(lines) <= most_lines:
            break
    return lines


def _list_verdicts(judged: Sequence[Judged], most: int | None) -> list[str]:
    """Lines: the questions by verdict, at most so many lines for each."""
    by_word: dict[str, list[Judged]] = {word: [] for word in (*VERDICTS, "no answer")}
    for own in judged:
        by_word[own.verdict if math.isfinite(own.half) else "no answer"].append(own)
    lines: list[str] = []
    for word, members in by_word.items():
        lines += _list_questions(word, members, most)
    return lines


def _list_improvements(
    found: Sequence[Improvement], most: int, untried: int, *, is_short: bool
) -> list[str]:
    """Lines: so many improvements, and how many changes were left untried."""
    changes = [_describe(own, is_short=is_short) for own in found[:most]]
    changes = changes or [f"{len(found)} (-v)" if found else "nothing that was tried helps"]
    if untried:
        changes.append(f"{pluralize(untried, 'other change')} not tried, which would take longer")
    lines: list[str] = []
    for place, change in enumerate(changes):
        lines += labelled_lines([("" if place else "to improve", change)])
    return lines


def _price(cost: MissingCost, most: int | None) -> str:
    """The cost of measures that may be missing, in words."""
    names = list_some([cut(name, 20) for name in cost.names], 20 if most is None else 2)
    known = (("AVG", cost.averages), ("other questions", cost.others))
    wide = ", of ".join(f"{what} {times:.2f} times" for what, times in known if times is not None)
    if not wide:
        return f"{names} may be missing: what that costs was not worked out in time"
    return f"{names} may be missing: ± of {wide} what it would be with required = true"


def _share(share: float) -> str:
    """A half-interval, whose spaces end no line."""
    if share > LARGEST:
        return f"±\xa0over\xa0{100 * LARGEST:.0f}\xa0%"
    return f"±\xa0{_in_short(100 * share)}\xa0%"


def _list_questions(word: str, judged: Sequence[Judged], most: int | None) -> list[str]:
    """Lines: those of one verdict, and what the least accurate one tells apart; as many as fit into
    so many lines."""
    lines: list[str] = []
    for shown in range(len(judged), 0, -1):
        own = judged[:shown]
        texts = [
            cut(each.question.text, WIDTH - 30 if most else 500)
            + (f" {_share(each.half)}" if math.isfinite(each.half) else "")
            for each in own
        ]
        if shown < len(judged):
            texts.append(f"{len(judged) - shown} more (-v)")
        told, last = own[-1].told, f"the last{' shown' * (shown < len(judged))} " * (shown > 1)
        if told is not None and word in VERDICTS[:2]:
            is_average = own[-1].question.bounds is not None
            low, high = (significant(t) if is_average else f"{100 * t:.3g}\xa0%" for t in told)
            what = "an average of " if is_average else ""
            people = "" if is_average else " of the people"
            texts[-1] += f"; {last}tells {what}{low}{people} from {high}"
        if most and word not in VERDICTS:
            texts[-1] += " (-v: why)"
        lines = labelled_lines([(word, ", ".join(texts))])
        if most is None or len(lines) <= most:
            break
    return lines


def _describe(own: Improvement, *, is_short: bool) -> str:
    """An improvement: what it does to the question that gains most and to others, and its cost.

    is_short: whether it is to fit into two lines.
    """
    before, after = _share(own.before.half), _share(own.after.half)
    text, change, cost = own.after.question.text, own.text, own.cost
    if is_short:
        text, change, cost = cut(text, 36), cut(change, 30), cut(cost, 40)
    more = f", {own.better} better" * bool(own.better) + f", {own.lost} lost" * bool(own.lost)
    return f"{change}: {text} {after}, not {before}{more}; {cost}"


def effects(
    judged: Sequence[Judged], difference: float, people: int, *, is_short: bool
) -> list[str]:
    """Lines: with which chance a difference between two groups is told, and what sample would do.

    difference: of shares of a group's people, or of averages as a share of the range.  is_short:
    whether the likeliest ones are enough.
    """
    found = find_effects(judged, difference, people)
    share = f"{_in_short(100 * difference)} %"
    if not found:
        return [f"no difference of {share} between two groups can be predicted"]
    head = ["question, groups", "chance", f"{100 * POWER:.0f} % with"]
    rows = [
        [cut(own.text, WIDTH - 34), f"{100 * own.power:.0f} %", f"{about(own.people)} people"]
        for own in found[: _MOST_EFFECTS if is_short else None]
    ]
    text = (
        f"a difference of {share} between two groups (of the people in each, or of an AVG's range),"
        f" two-sided at {100 * LEVEL:.0f} %: the chance that {people:,} people tell it"
    )
    return [*fill(text), *(f"  {line}" for line in table_lines(head, rows, [False, True, True]))]


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
        *fill(f"expected with {_promised(designed)}, ± being half of a {_LEVEL} interval:"),
        *(f"  {line}" for line in table),
        *fill("; ".join(legend), indent="  "),
    ]


def _promised(designed: DesignedSurvey) -> str:
    """How many people the forecast is for, and both promises where their reports are shuffled."""
    people, survey = f"{designed.people:,} people", designed.survey
    if survey.shuffled is None:
        return people
    return (
        f"{people} at epsilon {survey.shuffled.epsilon} of the batch, {survey.epsilon} of a report"
    )


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


def year_of(designed: DesignedSurvey) -> list[tuple[str, str]]:
    """What a year costs a person who is asked in some periods only, and what everybody's answers
    tell; beside it, to be asked in all of them for the same sum of epsilons."""
    try:
        both = compare_year(designed)
    except Error as error:
        return [("a year", f"what answers in all periods would tell is not known: {error}")]
    if both is None:
        return []
    period, texts = designed.survey.schedule.period, list[str]()
    for own in both:
        halves = [f"{significant(100 * half)} %" for half in (own.of_period, own.of_year)]
        texts.append(
            f"{pluralize(own.answers, 'report')} of epsilon {own.epsilon} from each person: a "
            f"typical count to ± {halves[0]} of the people each {period}, its mean to ± {halves[1]}"
        )
    return [("a year", texts[0]), ("instead", f"for the same epsilon in all, {texts[1]}")]


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
