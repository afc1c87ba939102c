"""Public. Sees parameters. The mechanisms by name: adding one is adding a line here.

A mechanism's module is imported when it is first asked for: a question to one survey needs one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

from ldpsql.mechanisms.base import Mechanism
from ldpsql_device.errors import SurveyError

_Line = tuple[Any, ...]

_LINES: Mapping[str, _Line] = {
    "fourier": ("ldpsql.recipes.fourier.recipe", "Fourier"),
    "staircase": ("ldpsql.recipes.staircase", "STAIRCASE"),
    "hgrr": ("ldpsql.recipes.hierarchical", "HGRR"),
    "hio": ("ldpsql.recipes.hierarchical", "HIO"),
    "ahio": ("ldpsql.recipes.hierarchical", "AHIO"),
    "ehio": ("ldpsql.recipes.hierarchical", "EHIO"),
    "hi": ("ldpsql.recipes.hi", "HI"),
    "hh": ("ldpsql.recipes.hierarchical", "HH"),
    "haarhrr": ("ldpsql.recipes.haar", "HAARHRR"),
    "ahead": ("ldpsql.recipes.ahead", "AHEAD"),
    "lgrr": ("ldpsql.recipes.lgrr", "LGRR"),
    "lgrr-fd": ("ldpsql.recipes.lgrr", "LGRR_FD"),
    "lgrr-repaired": ("ldpsql.recipes.hierarchical", "LGRR_REPAIRED"),
    "grr": ("ldpsql.recipes.hierarchical", "GRR"),
    "olh": ("ldpsql.recipes.hierarchical", "OLH"),
    "oue": ("ldpsql.recipes.hierarchical", "OUE"),
    "urr": ("ldpsql.recipes.uldp", "URR"),
    "urap": ("ldpsql.recipes.uldp", "URAP"),
    "cprr": ("ldpsql.recipes.uldp", "CPRR"),
    "jurr": ("ldpsql.recipes.uldp", "JURR"),
    "jurr-g": ("ldpsql.recipes.uldp", "JURR_G"),
    "tdrr": ("ldpsql.recipes.uldp", "TDRR"),
    "jd-grr": ("ldpsql.recipes.uldp", "JD_GRR"),
    "truthful": ("ldpsql.recipes.truthful", "TRUTHFUL"),
    "srr-ss": ("ldpsql.recipes.marginals", "SRR_SS"),
    "psrr-ss": ("ldpsql.recipes.marginals", "PSRR_SS"),
    "arr-ss": ("ldpsql.recipes.arr", "ARR_SS"),
    "srr-ms": ("ldpsql.recipes.marginals", "SRR_MS"),
    "sue-ms": ("ldpsql.recipes.marginals", "SUE_MS"),
    "oue-ms": ("ldpsql.recipes.marginals", "OUE_MS"),
    "solh": ("ldpsql.recipes.marginals", "SOLH"),
    "ft": ("ldpsql.recipes.ft", "FT"),
}
"""Name -> module (below this package, or in full), and the recipe in it, or its class and what
that is made with."""


class _Registry(MutableMapping[str, Mechanism]):
    """The mechanisms of the lines above, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Mechanism | None] = dict.fromkeys(_LINES)

    def __getitem__(self, name: str) -> Mechanism:
        made = self._made[name]
        if made is None:
            module, maker, *given = _LINES[name]
            path = module if module.startswith("ldpsql.") else f"ldpsql.mechanisms.{module}"
            named = getattr(import_module(path), maker)
            made = named(*given) if isinstance(named, type) else named
            self._made[name] = made
        return made

    def __setitem__(self, name: str, made: Mechanism) -> None:
        self._made[name] = made

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


MECHANISMS: Mapping[str, Mechanism] = _Registry()


def mechanism(name: str) -> Mechanism:
    """A mechanism by its name; SurveyError lists those there are."""
    try:
        return MECHANISMS[name]
    except KeyError:
        raise SurveyError(
            f"unknown mechanism {name!r}; there are {', '.join(MECHANISMS)}"
        ) from None
