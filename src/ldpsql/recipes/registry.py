"""The mechanisms by name: adding one is adding its name and module here.

Its recipe is the module's constant of that name, `SRR_SS` for srr-ss. A question to one survey
needs one recipe, and importing them all takes longer than answering it: so a module is imported
when one of its recipes is first asked for.

Other distributions bring mechanisms as entry points of the group `ldpsql.mechanisms`. They are
looked for where a name is not one of ours, and `auto` does not consider them.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping, MutableMapping
from functools import cache
from importlib import import_module
from typing import Any

from ldpsql.errors import did_you_mean
from ldpsql.recipes.base import AnyRecipe, Recipe
from ldpsql_device.errors import SurveyError

_MODULES: Mapping[str, str] = {
    "fourier": "fourier.recipe",
    "staircase": "staircase",
    **dict.fromkeys(("hgrr", "hio", "ahio", "ehio"), "hierarchical"),
    "hi": "hi",
    "hh": "hierarchical",
    "haarhrr": "haar",
    "ahead": "ahead",
    **dict.fromkeys(("lgrr", "lgrr-fd"), "lgrr"),
    **dict.fromkeys(("lgrr-repaired", "grr", "olh", "oue", "hrr"), "hierarchical"),
    **dict.fromkeys(("urr", "urap", "cprr", "jurr", "jurr-g", "tdrr", "jd-grr"), "uldp"),
    "graded": "graded",
    "truthful": "truthful",
    **dict.fromkeys(("srr-ss", "psrr-ss", "arr-ss"), "marginals"),
    **dict.fromkeys(("srr-ms", "sue-ms", "oue-ms", "solh", "ft"), "marginals"),
}
"""Name -> its module, in the order in which mechanisms are listed."""


class _Registry(UserDict[str, Any]):
    """The recipes by name, None before they are first asked for."""

    def __getitem__(self, name: str) -> AnyRecipe:
        if self.data[name] is None:
            module = import_module(f"ldpsql.recipes.{_MODULES[name]}")
            self.data[name] = getattr(module, name.upper().replace("-", "_"))
        recipe: AnyRecipe = self.data[name]
        return recipe


GROUP = "ldpsql.mechanisms"
"""The group of entry points under which other distributions name their recipes."""
MECHANISMS: MutableMapping[str, AnyRecipe] = _Registry(dict.fromkeys(_MODULES))


def mechanism(name: str) -> AnyRecipe:
    """A mechanism by its name, ours or an installed one; SurveyError lists those there are."""
    found = MECHANISMS[name] if name in MECHANISMS else _installed(name)
    if found is None:
        from importlib.metadata import entry_points  # noqa: PLC0415

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
    from importlib.metadata import entry_points  # noqa: PLC0415  (takes as long as a small answer)

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
