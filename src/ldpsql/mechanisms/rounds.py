"""Designs that ask in rounds: later questions depend on the answers of people asked before."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ldpsql.estimators.base import AnyDecoder, AnyDesign
from ldpsql.reports.report import Histogram


class Rounds(ABC):
    """The part of a design that asks in rounds. Each person answers one round."""

    @property
    @abstractmethod
    def round(self) -> int:
        """Number of this round, from 1."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many rounds there are."""

    @property
    @abstractmethod
    def earlier(self) -> int:
        """People who answered the rounds before: this round's estimator speaks of them too."""

    @abstractmethod
    def design_next(self, histogram: Histogram) -> AnyDesign:
        """The next round's design, from this one's reports.

        SurveyError after the last round, and where there are too few reports.
        """


def count_earlier(design: AnyDecoder) -> int:
    """People of earlier rounds of whom the estimators of a design speak too."""
    return design.earlier if isinstance(design, Rounds) else 0
