"""Later rounds of designs that ask in rounds."""

from __future__ import annotations

import numpy as np

from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.survey import Survey
from ldpsql_device.signature import SigningKey
from ldpsql_lab.simulation import SeededEntropy, histogram_of


def at_round(design: Design, number: int, people: int = 200_000) -> Design:
    """The design of a later round, after people that are spread evenly have answered each."""
    sizes = design.domain.sizes
    codes = np.random.default_rng(1).integers(0, sizes, (people, len(sizes)))
    while isinstance(design, Rounds) and design.round < number:
        reports = design.randomize(codes, SeededEntropy(design.round))
        design = design.design_next(histogram_of(reports))
    return design


def next_survey(survey: Survey, people: int = 5_000, key: SigningKey | None = None) -> Survey:
    """The survey of the next round, after people that are all alike."""
    codes = np.zeros((people, len(survey.schema.dimensions)), dtype=np.int64)
    return survey.next_round(histogram_of(survey.design.randomize(codes, SeededEntropy(1))), key)
