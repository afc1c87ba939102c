"""The mechanisms by name: adding one is adding its name, and its recipe to its family.

A question to one survey needs one recipe, and importing them all takes longer than answering it:
so a family is imported, in a function, when one of its recipes is first asked for.

Other distributions bring mechanisms as entry points of the group `ldpsql.mechanisms`. They are
looked for where a name is not one of ours, and `auto` does not consider them.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping, MutableMapping
from functools import cache
from typing import Any

from ldpsql.errors import did_you_mean
from ldpsql.mechanisms.base import AnyRecipe, Recipe
from ldpsql_device.errors import SurveyError

Family = tuple[AnyRecipe, ...]


def _fourier() -> Family:
    from ldpsql.mechanisms.fourier import recipe

    return (recipe.FOURIER,)


def _staircase() -> Family:
    from ldpsql.mechanisms.staircase import recipe as staircase

    return (staircase.STAIRCASE,)


def _hierarchical() -> Family:
    from ldpsql.mechanisms.hierarchical import recipe as hierarchical

    return (
        hierarchical.HGRR,
        hierarchical.HIO,
        hierarchical.AHIO,
        hierarchical.EHIO,
        hierarchical.HH,
        hierarchical.LGRR_REPAIRED,
        hierarchical.GRR,
        hierarchical.OLH,
        hierarchical.OUE,
        hierarchical.HRR,
    )


def _hi() -> Family:
    from ldpsql_lab.mechanisms import hi

    return (hi.HI,)


def _haar() -> Family:
    from ldpsql_lab.mechanisms import haar

    return (haar.HAARHRR,)


def _ahead() -> Family:
    from ldpsql_lab.mechanisms import ahead

    return (ahead.AHEAD,)


def _lgrr() -> Family:
    from ldpsql.mechanisms.lgrr import recipe as lgrr

    return (lgrr.LGRR, lgrr.LGRR_FD)


def _uldp() -> Family:
    from ldpsql.sensitive import recipes as uldp

    return (uldp.URR, uldp.URAP, uldp.CPRR, uldp.JURR, uldp.JURR_G, uldp.TDRR, uldp.JD_GRR)


def _graded() -> Family:
    from ldpsql_lab.mechanisms import graded

    return (graded.GRADED,)


def _truthful() -> Family:
    from ldpsql_lab.mechanisms import truthful

    return (truthful.TRUTHFUL,)


def _marginals() -> Family:
    from ldpsql.marginals import recipes as marginals

    return (
        marginals.SRR_SS,
        marginals.PSRR_SS,
        marginals.ARR_SS,
        marginals.SRR_MS,
        marginals.SUE_MS,
        marginals.OUE_MS,
        marginals.SOLH,
        marginals.FT,
    )


_FAMILIES: Mapping[str, Callable[[], Family]] = {
    "fourier": _fourier,
    "staircase": _staircase,
    **dict.fromkeys(("hgrr", "hio", "ahio", "ehio"), _hierarchical),
    "hi": _hi,
    "hh": _hierarchical,
    "haarhrr": _haar,
    "ahead": _ahead,
    **dict.fromkeys(("lgrr", "lgrr-fd"), _lgrr),
    **dict.fromkeys(("lgrr-repaired", "grr", "olh", "oue", "hrr"), _hierarchical),
    **dict.fromkeys(("urr", "urap", "cprr", "jurr", "jurr-g", "tdrr", "jd-grr"), _uldp),
    "graded": _graded,
    "truthful": _truthful,
    **dict.fromkeys(("srr-ss", "psrr-ss", "arr-ss"), _marginals),
    **dict.fromkeys(("srr-ms", "sue-ms", "oue-ms", "solh", "ft"), _marginals),
}
"""Name -> its family, in the order in which mechanisms are listed."""


class _Registry(UserDict[str, Any]):
    """The recipes by name, None before they are first asked for."""

    def __getitem__(self, name: str) -> AnyRecipe:
        if self.data[name] is None:
            recipes = {recipe.name: recipe for recipe in _FAMILIES[name]()}
            self.data.update((each, recipes[each]) for each in recipes if self.data[each] is None)
        recipe: AnyRecipe = self.data[name]
        return recipe


GROUP = "ldpsql.mechanisms"
"""The group of entry points under which other distributions name their recipes."""
MECHANISMS: MutableMapping[str, AnyRecipe] = _Registry(dict.fromkeys(_FAMILIES))


def mechanism(name: str) -> AnyRecipe:
    """A mechanism by its name, ours or an installed one; SurveyError lists those there are."""
    found = MECHANISMS[name] if name in MECHANISMS else _installed(name)
    if found is None:
        from importlib.metadata import entry_points

        known = dict.fromkeys((*MECHANISMS, *sorted(entry_points(group=GROUP).names)))
        raise SurveyError(
            f"unknown mechanism {name!r:.60}; {did_you_mean(name, known)}there are "
            f"{', '.join(known)}"
        )
    return found


@cache
def _installed(name: str) -> AnyRecipe | None:
    """The recipe that another distribution brings, None where none does.

    SurveyError where several do, or where it cannot be imported, or is none of this name.
    """
    from importlib.metadata import entry_points

    entries = tuple(entry_points(group=GROUP, name=name))
    if not entries:
        return None
    if len(entries) > 1:
        owners = ", ".join(sorted(entry.dist.name if entry.dist else "?" for entry in entries))
        raise SurveyError(f"several packages bring a mechanism {name}: {owners}; keep one of them")
    (entry,) = entries
    try:
        recipe = entry.load()
    except Exception as error:  # it is somebody else's code, which may fail in any way
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise SurveyError(
            f"mechanism {name} cannot be loaded from {entry.value} ({said:.200}); "
            f"update or uninstall the package that brings it"
        ) from error
    if not isinstance(recipe, Recipe) or recipe.name != name:
        raise SurveyError(f"mechanism {name}: {entry.value} is not a recipe called {name}")
    return recipe
