"""Whom answers are about, beyond those who answered one survey: the entry point of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldpsql.engine.sample import Sample, SumSource
from ldpsql.engine.sources import AskedSurvey, Sources
from ldpsql.population.census import of_census
from ldpsql.population.margins import (
    MarginSources,
    margins_from_json,
    margins_to_json,
    read_margins,
)
from ldpsql.population.poststratify import Poststratified
from ldpsql.population.strata import Strata, make_undivided, strata_of
from ldpsql.population.unions import Union
from ldpsql.survey import Survey
from ldpsql_device.errors import InterfaceError


class Population(Sources):
    """A population with margins, one of which several surveys are samples, or a census.

    Without any of these: those who answered, each survey's people beside the other's.
    """

    def __init__(
        self, weights: MarginSources = None, *, one_population: bool = False, census: bool = False
    ) -> None:
        """weights: margins of the population that answers are about; none for those who took part.

        one_population: whether surveys that are asked as one table are samples of one population,
        as they are in any case where it has margins.
        census: whether those who answered are all that answers are about, so that intervals need
        not contain that they are a sample; InterfaceError beside a population of others.
        """
        self.weights = read_margins(weights)
        if census and (self.weights or one_population):
            raise InterfaceError(
                "a census is about those who answered; leave out the margins of a population, and "
                "one_population"
            )
        self.one_population, self.census = one_population, census
        self._strata: dict[str, Strata] = {}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Population:
        """The inverse of `to_json`; ValueError for margins that are none."""
        return cls(
            margins_from_json(said.get("weights") or []),
            one_population=said.get("one_population") is True,
            census=said.get("census") is True,
        )

    def to_json(self) -> Mapping[str, Any]:
        """Margins as they were read, whose files a collector has not."""
        margins = {"weights": margins_to_json(self.weights)} if self.weights else {}
        return {"one_population": self.one_population, "census": self.census, **margins}

    @property
    def predicts_errors(self) -> bool:
        """Plans know of no margins."""
        return not self.weights

    def combine(self, asked: Sequence[AskedSurvey]) -> SumSource:
        """Samples of one population are averaged, those who answered added."""
        if not self._is_sampled(asked):
            samples = [self._sample(each.sample) for each in asked]
            return samples[0] if len(samples) == 1 else Union.add(samples)
        people = [each.people for each in asked]
        sources = [
            Poststratified.of(
                each.sample,
                self._strata_of(each.sample.plan.survey)
                if self.weights
                else make_undivided(sum(people)),
                each.estimators_of,
            )
            for each in asked
        ]
        return sources[0] if len(sources) == 1 else Union.combine(sources, people)

    def describe(self, surveys: Sequence[Survey]) -> list[str]:
        """A census, weights, and what several surveys have to do with each other."""
        found = list[str]()
        if any(map(self._is_census, surveys)):
            found.append("intervals are about those who answered: a census, no sample")
        if self.weights:
            strata = self._strata_of(surveys[0])
            found += [f"answers {strata.describe()}", *strata.notes]
        names = " and ".join(survey.table for survey in surveys)
        if len(surveys) > 1 and self._is_sampled(surveys):
            found.append(f"{names} are samples of one population, combined by inverse variance")
        elif len(surveys) > 1:
            found.append(f"{names} add up; a person who answered both counts in both")
        return found

    def _sample(self, sample: Sample) -> Sample:
        """The people of a survey; a census has intervals of its own."""
        return of_census(sample) if self._is_census(sample.plan.survey) else sample

    def _is_census(self, survey: Survey) -> bool:
        """Whether answers are about those who answered: so asked, or the survey says so and nobody
        asks about a larger population."""
        if survey.population is None:
            return self.census
        return not (self.weights or self.one_population)

    def _is_sampled(self, asked: Sequence[object]) -> bool:
        """Whether the surveys that are asked are samples of a population."""
        return bool(self.weights) or (self.one_population and len(asked) > 1)

    def _strata_of(self, survey: Survey) -> Strata:
        """The population with margins in the codes of a survey."""
        if survey.fingerprint not in self._strata:
            self._strata[survey.fingerprint] = strata_of(self.weights, survey.schema)
        return self._strata[survey.fingerprint]
