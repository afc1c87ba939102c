"""Where the sums of a base query come from, by whom its answers are about.

Here answers are about those who answered one survey. Margins of a population, a census, and several
surveys at once are the business of another package, which names a class of `Sources` as the entry
point `population` of the group `ldpsql.sources`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ldpsql import extensions
from ldpsql.engine.sample import EstimatorsOf, Sample, SumSource
from ldpsql.survey import Survey
from ldpsql_device.errors import NotSupportedError

if TYPE_CHECKING:
    import pyarrow as pa

GROUP, NAME = "ldpsql.sources", "population"
"""The entry point of whoever answers about more than one survey's people."""
SETTINGS = ("weights", "one_population", "census")
"""How a question says about whom its answers are."""
MarginSource: TypeAlias = "str | Path | pa.Table"
MarginSources: TypeAlias = "MarginSource | Sequence[MarginSource] | None"
"""Public margins of a population: CSV files or Arrow tables."""


@dataclass(frozen=True)
class AskedSurvey:
    """One of the surveys that a base query asks.

    sample: the people who answered it.  estimators_of: of a selection of its reports.
    people: how many answered.
    """

    sample: Sample
    estimators_of: EstimatorsOf
    people: int


class Sources:
    """Whom the answers of a session are about: those who answered one survey, a sample of people
    like them. Other sources override these methods."""

    @property
    def predicts_errors(self) -> bool:
        """Whether the errors of answers are those that plans predict."""
        return True

    def combine(self, asked: Sequence[AskedSurvey]) -> SumSource:
        """Where the sums of a base query over some surveys come from."""
        (only,) = asked
        return only.sample

    def describe(self, surveys: Sequence[Survey]) -> list[str]:
        """Whom answers from some surveys are about, in words; nothing where everybody expects
        it."""
        return []

    def to_json(self) -> Mapping[str, Any]:
        """The settings as a question over HTTP has them, some of `SETTINGS`."""
        return {}


RESPONDENTS = Sources()


def choose_sources(
    weights: MarginSources = None, *, one_population: bool = False, census: bool = False
) -> Sources:
    """Whom answers are about; the parameters are those of `ldpsql.connect`.

    NotSupportedError where that needs a package that is not installed, InterfaceError for settings
    that exclude each other, OperationalError or DataError for margins that are no table.
    """
    has_margins = weights is not None and not (isinstance(weights, list | tuple) and not weights)
    if not (has_margins or one_population or census):
        return RESPONDENTS
    found: Sources = _load()(weights, one_population=one_population, census=census)
    return found


def sources_from_json(said: Mapping[str, Any]) -> Sources:
    """The sources that `Sources.to_json` wrote; ValueError for anything else, and errors as
    above."""
    found: Sources = _load().from_json(said) if any(map(said.get, SETTINGS)) else RESPONDENTS
    return found


def sources_of_everybody() -> Sources:
    """Those who answered, where surveys are censuses, or several are asked as one table.

    NotSupportedError as above.
    """
    found: Sources = _load()()
    return found


def _load() -> Any:
    """The class that the entry point names, a constructor of `Sources` with `from_json`."""
    found = extensions.load(GROUP, NAME)
    if found is None:
        raise NotSupportedError(
            "answers about a population, a census or several surveys at once need the package "
            "ldpsql.population, which is not installed"
        )
    return found
