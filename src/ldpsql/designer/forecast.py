"""Public. Sees parameters. The expected error of a design on a workload, before any data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from ldpsql.bounds import Bound
from ldpsql.designer.probes import Probe
from ldpsql.mechanisms.base import Design
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.errors import SurveyError

DEFAULT_USERS = 100_000
_BATCH = 8
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Expected:
    """The expected standard error of one kind of query.

    error: in people or in units of the measure.  share: of what all people could make of the
    answer at most, which `limit` says in words.
    """

    text: str
    error: float
    share: float
    limit: str


@dataclass(frozen=True)
class Forecast:
    """What a design is expected to do on a workload with so many people.

    variances: mean variance of each probe's queries, in the workload's units (people for counts,
    people x half the distance of the bounds for sums about the middle, people x largest bound for
    sums of declared queries).
    """

    design: Design
    probes: tuple[Probe, ...]
    people: int
    variances: tuple[float, ...]

    @classmethod
    def of(cls, design: Design, probes: Sequence[Probe], people: int) -> Forecast:
        """Predict, for records spread evenly. SurveyError where the design cannot answer."""
        variances = [0.0] * len(probes)
        for is_about_middle in (False, True):
            asked = [
                i for i, probe in enumerate(probes) if probe.is_about_middle == is_about_middle
            ]
            if asked:
                asking = _about_the_middle(design) if is_about_middle else design
                means = _mean_variances(asking, [probes[i] for i in asked], people)
                for i, mean in zip(asked, means, strict=True):
                    variances[i] = mean
        return cls(design, tuple(probes), people, tuple(variances))

    @cached_property
    def error(self) -> float:
        """Root of the workload's mean variance, in its units."""
        return _root_mean(self.probes, self.variances)

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval of a typical count, as a share of the people.

        Of a typical sum, where the workload has no counts.
        """
        pairs = list(zip(self.probes, self.variances, strict=True))
        pairs = [pair for pair in pairs if pair[0].is_count] or pairs
        error = _root_mean([probe for probe, _ in pairs], [v for _, v in pairs])
        return _Z * error / self.people

    def expected(self, most: int) -> tuple[Expected, ...]:
        """The expected errors probe by probe, or by coarser kinds if there are more than `most`."""
        pairs = list(zip(self.probes, self.variances, strict=True))
        kinds: dict[str, list[tuple[Probe, float]]] = {}
        for probe, variance in pairs:
            text = probe.text if len(pairs) <= most else probe.group
            kinds.setdefault(text, []).append((probe, variance))
        return tuple(self._expected(text, members) for text, members in kinds.items())

    def _expected(self, text: str, members: Sequence[tuple[Probe, float]]) -> Expected:
        probes = [probe for probe, _ in members]
        error = _root_mean(probes, [variance for _, variance in members])
        first = probes[0]
        return Expected(text, error * first.unit * first.shown, error / self.people, first.limit)

    def ratio(self, bound: Bound | None) -> float | None:
        """Expected error over the least possible one; None where no bound is known."""
        if bound is None or not bound.noise:
            return None
        return self.error / math.sqrt(bound.noise * self.people)


def _root_mean(probes: Sequence[Probe], variances: Sequence[float]) -> float:
    weights = [probe.weight for probe in probes]
    return math.sqrt(float(np.average(variances, weights=weights)))


def _mean_variances(design: Design, probes: Sequence[Probe], people: int) -> Iterator[float]:
    """Mean variance of each probe's queries in the workload's units.

    Designs share work between queries, but also compute the covariance of all with all, hence
    the batches.
    """
    planned = [design.prepare(query) for probe in probes for query in probe.queries]
    batches = [planned[start : start + _BATCH] for start in range(0, len(planned), _BATCH)]
    found = np.concatenate([design.variance(batch, people) for batch in batches])
    ends = np.cumsum([len(probe.queries) for probe in probes])
    for probe, part in zip(probes, np.split(found, ends[:-1]), strict=True):
        mean = float(np.mean(part)) / probe.unit**2
        if not math.isfinite(mean):
            raise SurveyError(f"it does not answer every query: {probe.text}")
        yield mean


def _about_the_middle(design: Design) -> Design:
    """The same design with measures between -1 and 1, whose sums are those about the middle.

    Devices report only to which of its bounds a measure was rounded, so nothing else changes.
    """
    centred = replace(design.domain, bounds=tuple((-1.0, 1.0) for _ in design.domain.bounds))
    if centred == design.domain:
        return design
    return mechanism(design.name).restore(centred, design.epsilon, design.to_json())
