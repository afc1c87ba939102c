"""What an attacker learns from reports: how often the best guess of a value or a person is right.

Reconstruction: the attacker sees one report, knows the mechanism and how common every value is (all
equally, or as in the table), and guesses the likeliest value. The rate follows exactly from the
law, averaged over the draw of the question.

Re-identification, after Murakami and Takahashi (Trans. Data Privacy 2021) and Arcolezi, Gambs,
Couchot and Palamidessi (VLDB 2023): each of several surveys asks one more attribute of the same
people with a budget of its own; the attacker can link the reports of one person, knows the true
records of everybody (full knowledge), and names the person to whom the reports point. Their
attackers guess every value and count how many guesses agree with a record. This one ranks people by
the likelihood of all reports; no other order is better on average if everybody is equally likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.field.questions import Floats, Integers, Question


def reconstruct(questions: Iterable[Question], priors: Sequence[Floats]) -> list[float]:
    """Per prior, shape (values,): how often the best guess from one report is right."""
    found: list[list[float]] = [[] for _ in priors]
    for question in questions:
        cells, response = question.cells, question.response
        for prior, rates in zip(priors, found, strict=True):
            most = np.zeros(response.size)
            np.maximum.at(most, cells, prior)
            rates.append(question.weight * response.best(most))
    return [math.fsum(rates) for rates in found]


def weigh(questions: Sequence[Question], values: Integers, random: np.random.Generator) -> Floats:
    """Draw a question and a report for everybody: the logarithm of the report's probability for
    every value, up to a number per person, shape (n, values)."""
    weights = np.array([question.weight for question in questions])
    asked = random.choice(len(questions), len(values), p=weights / weights.sum())
    found = np.zeros((len(values), len(questions[0].cells)))
    for number in np.unique(asked):
        people, question = np.flatnonzero(asked == number), questions[number]
        said = question.response.weigh(question.cells[values[people]], random)
        with np.errstate(divide="ignore"):
            found[people] = np.log(said[:, question.cells])
    return found


def identify(records: Integers, targets: Integers, scores: Sequence[Floats], top: int) -> Floats:
    """The probability that each target is among the `top` likeliest people, with ties in random
    order; shape (targets,).

    records: shape (people, attributes). targets: numbers of people. scores: per attribute the
    logarithms of `weigh` for the targets.
    """
    hits = []
    for place, target in enumerate(targets):
        total = np.zeros(len(records))
        for column, score in zip(records.T, scores, strict=True):
            total += score[place, column]
        own = total[target]
        # Sums in another order differ in their last digits.
        near = 1e-9 * max(1.0, abs(own)) if math.isfinite(own) else 0.0
        above = np.count_nonzero(total > own + near)
        alike = np.count_nonzero(total >= own - near) - above
        hits.append(min(1.0, max(0, top - above) / alike))
    return np.array(hits)
