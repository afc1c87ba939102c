"""The mechanisms by name: adding one is adding its name and module here.

Its recipe is the module's constant of that name, `SRR_SS` for srr-ss. A question to one survey
needs one recipe, and importing them all takes longer than answering it: so a module is imported
when one of its recipes is first asked for.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping, MutableMapping
from importlib import import_module
from typing import Any

from ldpsql.errors import did_you_mean
from ldpsql.recipes.base import AnyRecipe
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


MECHANISMS: MutableMapping[str, AnyRecipe] = _Registry(dict.fromkeys(_MODULES))


def mechanism(name: str) -> AnyRecipe:
    """A mechanism by its name; SurveyError lists those there are."""
    try:
        return MECHANISMS[name]
    except KeyError:
        raise SurveyError(
            f"unknown mechanism {name!r:.60}; {did_you_mean(name, MECHANISMS)}there are "
            f"{', '.join(MECHANISMS)}"
        ) from None
