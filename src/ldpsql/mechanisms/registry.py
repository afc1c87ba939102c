"""The mechanisms by name: the core's families, and those that entry points bring.

A question to one survey needs one recipe, and importing them all takes longer than answering it:
so a family is imported, in a function, when one of its recipes is first asked for. Side rooms, the
lab and other distributions bring mechanisms as entry points of the group `ldpsql.mechanisms`.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from itertools import chain
from typing import Any

from ldpsql import extensions
from ldpsql.errors import did_you_mean
from ldpsql.mechanisms.base import AnyRecipe, Recipe
from ldpsql_device.errors import SurveyError

Family = tuple[AnyRecipe, ...]


def _fourier() -> Family:
    from ldpsql.mechanisms.fourier import recipe

    return (recipe.FOURIER,)


def _staircase() -> Family:
    from ldpsql.mechanisms.staircase import recipe

    return (recipe.STAIRCASE,)


def _hierarchical() -> Family:
    from ldpsql.mechanisms.hierarchical import recipe as trees

    return (
        *(trees.HGRR, trees.HIO, trees.AHIO, trees.EHIO, trees.LGRR_REPAIRED),
        *(trees.GRR, trees.OLH, trees.OUE, trees.HRR),
    )


def _lgrr() -> Family:
    from ldpsql.mechanisms.lgrr import recipe

    return (recipe.LGRR, recipe.LGRR_FD)


_CORE: Mapping[str, Callable[[], Family]] = {
    "fourier": _fourier,
    "staircase": _staircase,
    **dict.fromkeys(("hgrr", "hio", "ahio", "ehio"), _hierarchical),
    **dict.fromkeys(("lgrr", "lgrr-fd"), _lgrr),
    **dict.fromkeys(("lgrr-repaired", "grr", "olh", "oue", "hrr"), _hierarchical),
}
"""Name -> its family, in the order in which mechanisms are listed and tried."""

ROOMS: Mapping[str, tuple[str, ...]] = {
    "ldpsql.sensitive": ("urr", "urap", "cprr", "jurr", "jurr-g", "tdrr", "jd-grr"),
    "ldpsql.marginals": (
        *("srr-ss", "psrr-ss", "arr-ss", "srr-ms", "sue-ms", "oue-ms", "solh", "ft"),
    ),
    "ldpsql_lab": ("hi", "hh", "haarhrr", "ahead", "graded", "truthful"),
}
"""The families beside the core's, by the package that brings them: known by name, so that `design`
can say which of them are not installed."""

GROUP = "ldpsql.mechanisms"
"""The group of entry points under which other packages name their recipes."""


class _Registry(UserDict[str, Any]):
    """Every recipe by name, None before it is first asked for; entry points are read when names
    beyond the core's are needed."""

    _is_complete = False

    def __getitem__(self, name: str) -> AnyRecipe:
        if name not in self.data:
            self._complete()
        if self.data[name] is None:
            self._load(name)
        recipe: AnyRecipe = self.data[name]
        return recipe

    def __contains__(self, name: object) -> bool:
        if name not in self.data:
            self._complete()
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        self._complete()
        return iter(self.data)

    def __len__(self) -> int:
        self._complete()
        return len(self.data)

    def _complete(self) -> None:
        if self._is_complete:
            return
        found = extensions.installed(GROUP)
        ours = [name for names in ROOMS.values() for name in names if name in found]
        for name in dict.fromkeys((*ours, *found)):
            self.data.setdefault(name, None)
        self._is_complete = True  # last: another thread may ask meanwhile

    def _load(self, name: str) -> None:
        if name in _CORE:
            recipes = {recipe.name: recipe for recipe in _CORE[name]()}
            self.data.update((each, recipes[each]) for each in recipes if self.data[each] is None)
            return
        recipe = extensions.load(GROUP, name, SurveyError)
        if not isinstance(recipe, Recipe) or recipe.name != name:
            raise SurveyError(f"mechanism {name}: what is installed is not a recipe called {name}")
        self.data[name] = recipe


MECHANISMS: MutableMapping[str, AnyRecipe] = _Registry(dict.fromkeys(_CORE))


def mechanism(name: str) -> AnyRecipe:
    """A mechanism by its name, the core's or an installed one; SurveyError lists those there are,
    or names the package that has it."""
    if name in MECHANISMS:
        return MECHANISMS[name]
    for package, names in ROOMS.items():
        if name in names:
            raise SurveyError(f"mechanism {name} is in {package}, which is not installed")
    # Never one that promises less than local differential privacy of every value.
    weaker = {"lgrr", "lgrr-fd", *chain(*ROOMS.values())}
    alike = [each for each in MECHANISMS if each not in weaker]
    raise SurveyError(
        f"unknown mechanism {name!r:.60}; {did_you_mean(name, alike)}there are "
        f"{', '.join(MECHANISMS)}"
    )


def missing_rooms() -> dict[str, tuple[str, ...]]:
    """The packages of this project that are not installed, with the mechanisms they would bring."""
    lacking = {
        package: tuple(name for name in names if name not in MECHANISMS)
        for package, names in ROOMS.items()
    }
    return {package: names for package, names in lacking.items() if names}
