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
    "staircase": ("staircase.mechanism", "Staircase"),
    "hgrr": ("hgrr", "Hgrr"),
    "hio": ("hio", "Hio"),
    "ahio": ("ahio", "Ahio"),
    "ehio": ("ehio", "Ehio"),
    "hi": ("hi", "Hi"),
    "hh": ("hh", "Hh"),
    "haarhrr": ("haar", "HaarHrr"),
    "ahead": ("ahead.mechanism", "Ahead"),
    "lgrr": ("lgrr", "Lgrr"),
    "lgrr-fd": ("lgrr", "LgrrFd"),
    "lgrr-repaired": ("lgrr", "LgrrRepaired"),
    "grr": ("flat", "Flat", "grr"),
    "olh": ("flat", "Flat", "olh"),
    "oue": ("flat", "Flat", "oue"),
    "urr": ("uldp.mechanisms", "Cprr", "urr", "uldp", 1),
    "urap": ("uldp.urap", "Urap"),
    "cprr": ("uldp.mechanisms", "Cprr", "cprr"),
    "jurr": ("uldp.mechanisms", "Jurr"),
    "jurr-g": ("uldp.mechanisms", "JurrG"),
    "tdrr": ("uldp.mechanisms", "Tdrr"),
    "jd-grr": ("uldp.mechanisms", "Cprr", "jd-grr", "local"),
    "truthful": ("truthful.mechanism", "Truthful"),
    "srr-ss": ("marginals.mechanisms", "Marginals", "srr-ss", "grr"),
    "psrr-ss": ("marginals.mechanisms", "Marginals", "psrr-ss", "padded"),
    "arr-ss": ("marginals.arr", "ArrSs"),
    "srr-ms": ("marginals.mechanisms", "Marginals", "srr-ms", "grr", True),
    "sue-ms": ("marginals.mechanisms", "Marginals", "sue-ms", "sue", True),
    "oue-ms": ("marginals.mechanisms", "Marginals", "oue-ms", "oue", True),
    "solh": ("marginals.mechanisms", "Marginals", "solh", "solh"),
    "ft": ("marginals.walsh", "Ft"),
}
"""Name -> module (below this package, or in full), class in it, and what it is made with."""


class _Registry(MutableMapping[str, Mechanism]):
    """The mechanisms of the lines above, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Mechanism | None] = dict.fromkeys(_LINES)

    def __getitem__(self, name: str) -> Mechanism:
        made = self._made[name]
        if made is None:
            module, maker, *given = _LINES[name]
            path = module if module.startswith("ldpsql.") else f"ldpsql.mechanisms.{module}"
            made = getattr(import_module(path), maker)(*given)
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
