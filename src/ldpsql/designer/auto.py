"""`auto`: the mechanism with the least expected error on a workload.

Every mechanism that is installed and competes is tried with the options that may suit it. A small
sample of the workload finds the best options of each; a larger one, the same for all, ranks what is
left. Those that protect only what a survey declares sensitive take part where it does, unless they
protect even that less than others do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ldpsql.algebra.least_error import BOUND_BELOW
from ldpsql.algebra.workload import Workload
from ldpsql.designer.forecast import (
    HOPELESS,
    Forecast,
    SampledQueries,
    require_chance,
    sample_queries,
)
from ldpsql.estimators.base import AnyDesign
from ldpsql.limits import Clock, deadline
from ldpsql.mechanisms.base import AnyOptions, AnyRecipe, Promise
from ldpsql.mechanisms.registry import MECHANISMS
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.mechanisms.staircase.bound_of_totals import least_variance
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, SurveyError

RACE, FINAL = 18, 72
"""Queries in the sample that finds options, and in the one that ranks mechanisms."""
NEARLY_BEST = 1.02
"""For a crowd so much more error is taken of a mechanism that errs less where people are uneven."""
FIRST, LONGEST, MOST_SECONDS, QUICK = 300.0, 10.0, 30.0, 0.1
"""Seconds for the first mechanism, for each other one, for all of these; their part in haste."""
clock: Clock = time.process_time
"""The clock of these seconds; tests, which must not depend on the machine, have it stand still."""


@dataclass(frozen=True)
class Trial:
    """A mechanism with its best options."""

    name: str
    options: Mapping[str, Any]
    forecast: Forecast

    @property
    def rank(self) -> float:
        """Expected error to six digits, so that rounding does not decide between equals."""
        return float(f"{self.forecast.error:.6g}")


@dataclass(frozen=True)
class Ranking:
    """The outcome of `auto`.

    ranked: the best first.  left_out: why the other mechanisms do not take part.  bound: on the
    workload's variance, or None where it is unknown or says nothing.
    """

    ranked: tuple[Trial, ...]
    left_out: Mapping[str, str]
    bound: float | None

    @property
    def best(self) -> Trial:
        """The candidate that the survey will use."""
        return self.ranked[0]


def choose(
    workload: Workload,
    promise: Promise,
    people: int,
    tell: Callable[[str], None] = lambda _: None,
    progress: Callable[[int, int], None] = lambda _, __: None,
    *,
    estimator: str | None = None,
    quick: bool = False,
) -> Ranking:
    """Rank the mechanisms, each at the local epsilon with which it keeps the promise.

    Each has a budget of time, and so have all together; one that needs more is left out with that
    reason, and so is one that cannot come near the best so far (`Recipe.least_variance`). Apart
    from that it is deterministic. SurveyError, with the reasons, if none fits.

    tell: is told the name of the mechanism that is being tried, and how long it may still take.
    progress: called with how many mechanisms are tried, and how many there are.
    estimator: which one answers; mechanisms without it are left out. None for each one's default.
    quick: a tenth of the time for all but the first.
    """
    race, final = sample_queries(workload, RACE), sample_queries(workload, FINAL)
    ranked, left_out = list[Trial](), dict[str, str]()
    share = QUICK if quick else 1.0
    left = share * MOST_SECONDS
    for number, name in enumerate(_order(promise)):
        seconds = max(0.0, min(left, share * LONGEST)) if ranked else FIRST
        longest = max(0.0, left) + (0.0 if ranked else FIRST)
        progress(number, len(MECHANISMS))
        tell(f"trying {name}, at most {longest:.0f} s left")
        is_first, started = not ranked, clock()
        try:
            best = min(ranked, key=lambda each: each.rank, default=None)
            least = best.rank if best else math.inf
            recipe = MECHANISMS[name]  # an installed one may fail to load
            _check_estimator(estimator, recipe.estimator_names)
            if isinstance(promise, Epsilon):
                require_chance(math.sqrt(people * recipe.least_variance(workload, promise)), least)
            with deadline(seconds, _too_slow, clock):
                options, design = _best_options(recipe, workload, promise, people, race, best)
                _check_estimator(estimator, design.estimators)
                ranked.append(Trial(name, options, Forecast.of(design, final, people, least)))
        except Error as error:
            left_out[name] = str(error)
        except MemoryError:
            left_out[name] = "its design takes more memory than there is"
        if not is_first:
            left -= clock() - started
    if not ranked:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise SurveyError(f"no mechanism fits this survey: {reasons}")
    ranked.sort(key=lambda each: each.rank)
    if estimator is None and not isinstance(promise, Epsilon) and len(workload.supports) > 1:
        most = NEARLY_BEST * ranked[0].rank
        ranked.sort(key=lambda own: own.rank > most or not MECHANISMS[own.name].is_worst_when_even)
    best_domain = ranked[0].forecast.design.domain
    return Ranking(tuple(ranked), left_out, bound_of(workload.over(best_domain), promise))


def _order(promise: Promise) -> list[str]:
    """All names as they are tried: for a crowd first those that choose their budgets for one."""
    first: list[str] = []
    for name in () if isinstance(promise, Epsilon) else MECHANISMS:
        with suppress(Error):  # of one that fails to load, which is said when its turn comes
            first += [name] * MECHANISMS[name].calibrates
    return list(dict.fromkeys([*first, *MECHANISMS]))


def _too_slow(seconds: float) -> SurveyError:
    if seconds < QUICK * LONGEST:
        return SurveyError("the time for comparing mechanisms is used up; name it to use it")
    return SurveyError(f"comparing it would take more than {seconds:.0f} s; name it to use it")


def _check_estimator(name: str | None, known: Iterable[str]) -> None:
    """SurveyError where the estimator that is to answer is not among those of a mechanism."""
    if name is not None and name not in known:
        raise SurveyError(f"it has no estimator {name!r} for this survey")


def bound_of(workload: Workload, promise: Promise) -> float | None:
    """The least variance of the workload, where it is known and says something: it is about the
    local promise alone."""
    if not isinstance(promise, Epsilon) or float(promise) >= BOUND_BELOW:
        return None
    return least_variance(workload, promise)


def _best_options(
    recipe: AnyRecipe,
    workload: Workload,
    promise: Promise,
    people: int,
    samples: tuple[SampledQueries, ...],
    rival: Trial | None,
) -> tuple[AnyOptions, AnyDesign]:
    """The best of the options that are worth trying, with its design; the first refusal where none
    fits.

    rival: the best mechanism so far.
    """
    if reason := recipe.reserved(workload):
        raise SurveyError(reason)
    variants = list(recipe.variants(workload, promise, people))
    if len(variants) == 1:
        return variants[0], _competing(recipe, workload, promise, variants[0])
    best: Trial | None = None
    least = Forecast.of(rival.forecast.design, samples, 1).error if rival else math.inf
    refusals: list[Error] = []
    for options in variants:
        try:
            design = _competing(recipe, workload, promise, options)
            # Among its own options only the best counts, by however little.
            most = min(least, best.rank / HOPELESS) if best else least
            forecast = Forecast.of(design, samples, 1, most)
        except Error as error:
            refusals.append(error)
            continue
        own = Trial(recipe.name, options, forecast)
        best = own if best is None or own.rank < best.rank else best
    if best is None:
        raise refusals[0]
    return best.options, best.forecast.design


def _competing(
    recipe: AnyRecipe, workload: Workload, promise: Promise, options: AnyOptions
) -> AnyDesign:
    """A design that may take part; SurveyError for one that may not."""
    design = recipe.design(workload.domain, promise, options, workload)
    if design.guarantee.kind not in ("local", "uldp"):
        raise SurveyError(f"it is {design.guarantee}")
    if isinstance(design, Rounds):
        raise SurveyError("it asks in rounds, and its error is unknown before the first")
    return design
