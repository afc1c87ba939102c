"""The mechanisms by name: adding one is adding it to its family here, and its name to the list.

A question to one survey needs one recipe, and importing them all takes longer than answering it:
so a family's module is imported when one of its recipes is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping

from ldpsql.recipes.base import AnyRecipe
from ldpsql_device.errors import SurveyError

# ruff: noqa: PLC0415


def _fourier() -> list[AnyRecipe]:
    from ldpsql.recipes.fourier.recipe import Fourier

    return [Fourier()]


def _cells() -> list[AnyRecipe]:
    from ldpsql.recipes.staircase import STAIRCASE
    from ldpsql.recipes.truthful import TRUTHFUL

    return [STAIRCASE, TRUTHFUL]


def _trees() -> list[AnyRecipe]:
    from ldpsql.recipes import hierarchical as trees

    unsigned: list[AnyRecipe] = [trees.HIO, trees.GRR, trees.OLH, trees.OUE]
    return [*unsigned, trees.AHIO, trees.EHIO, trees.HGRR, trees.HH, trees.LGRR_REPAIRED]


def _hi() -> list[AnyRecipe]:
    from ldpsql.recipes.hi import HI

    return [HI]


def _haar() -> list[AnyRecipe]:
    from ldpsql.recipes.haar import HAARHRR

    return [HAARHRR]


def _lgrr() -> list[AnyRecipe]:
    from ldpsql.recipes.lgrr import LGRR, LGRR_FD

    return [LGRR, LGRR_FD]


def _ahead() -> list[AnyRecipe]:
    from ldpsql.recipes.ahead import AHEAD

    return [AHEAD]


def _sensitive() -> list[AnyRecipe]:
    from ldpsql.recipes.uldp import CPRR, JD_GRR, JURR, JURR_G, TDRR, URAP, URR

    return [URR, URAP, CPRR, JURR, JURR_G, TDRR, JD_GRR]


def _marginals() -> list[AnyRecipe]:
    from ldpsql.recipes.arr import ARR_SS
    from ldpsql.recipes.ft import FT
    from ldpsql.recipes.marginals import OUE_MS, PSRR_SS, SOLH, SRR_MS, SRR_SS, SUE_MS

    return [SRR_SS, PSRR_SS, ARR_SS, SRR_MS, SUE_MS, OUE_MS, SOLH, FT]


_FAMILIES: Mapping[str, Callable[[], list[AnyRecipe]]] = {
    "fourier": _fourier,
    "staircase": _cells,
    **dict.fromkeys(("hgrr", "hio", "ahio", "ehio"), _trees),
    "hi": _hi,
    "hh": _trees,
    "haarhrr": _haar,
    "ahead": _ahead,
    **dict.fromkeys(("lgrr", "lgrr-fd"), _lgrr),
    **dict.fromkeys(("lgrr-repaired", "grr", "olh", "oue"), _trees),
    **dict.fromkeys(("urr", "urap", "cprr", "jurr", "jurr-g", "tdrr", "jd-grr"), _sensitive),
    "truthful": _cells,
    **dict.fromkeys(("srr-ss", "psrr-ss", "arr-ss"), _marginals),
    **dict.fromkeys(("srr-ms", "sue-ms", "oue-ms", "solh", "ft"), _marginals),
}
"""Name -> its family, in the order in which mechanisms are listed."""


class _Registry(MutableMapping[str, AnyRecipe]):
    """The recipes of the families above, by name."""

    def __init__(self) -> None:
        self._recipes: dict[str, AnyRecipe | None] = dict.fromkeys(_FAMILIES)

    def __getitem__(self, name: str) -> AnyRecipe:
        recipe = self._recipes[name]
        if recipe is None:
            recipe = next(each for each in _FAMILIES[name]() if each.name == name)
            self._recipes[name] = recipe
        return recipe

    def __setitem__(self, name: str, recipe: AnyRecipe) -> None:
        self._recipes[name] = recipe

    def __delitem__(self, name: str) -> None:
        del self._recipes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._recipes)

    def __len__(self) -> int:
        return len(self._recipes)


MECHANISMS: MutableMapping[str, AnyRecipe] = _Registry()


def mechanism(name: str) -> AnyRecipe:
    """A mechanism by its name; SurveyError lists those there are."""
    try:
        return MECHANISMS[name]
    except KeyError:
        raise SurveyError(
            f"unknown mechanism {name!r}; there are {', '.join(MECHANISMS)}"
        ) from None
