"""Which people of a table answer which round of a survey that asks in rounds.

A person answers one round. The rows of a table are cut into blocks of as many as there are rounds,
and in each block every round has one row, in an order that follows from the block's number and from
the first round's fingerprint alone. So all rounds of a survey deal the same table alike, whatever
its values are, and every round gets the same number of people, but for the last block.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsql.mechanisms.rounds import Rounds
from ldpsql.survey import Survey
from ldpsql_device.errors import SurveyError


@dataclass(frozen=True)
class Deal:
    """The people of one round.

    key: the same for all rounds.  round: from 1.  rounds: how many there are.
    """

    key: str
    round: int
    rounds: int

    @classmethod
    def of(cls, survey: Survey) -> Deal:
        """SurveyError for a survey that does not ask in rounds."""
        design = survey.design
        if not isinstance(design, Rounds):
            raise SurveyError(
                f"{survey.table}: {design.name} asks everybody at once; leave out --rounds"
            )
        return cls(survey.first or survey.fingerprint, design.round, design.rounds)

    def choose(self, start: int, count: int) -> NDArray[np.bool_]:
        """Which of the rows start, start + 1, ... answer this round, shape (count,)."""
        first, end = start // self.rounds, -(-(start + count) // self.rounds)
        keys = np.array([self._keys_of(block) for block in range(first, end)], dtype=np.uint64)
        order = keys.reshape(-1, self.rounds).argsort(axis=1).ravel()
        return np.asarray(order[start - first * self.rounds :][:count] == self.round - 1)

    def _keys_of(self, block: int) -> NDArray[np.uint64]:
        """Random words by which a block's rows are ordered, one per round."""
        text = f"ldpsql.rounds {self.key} {block}".encode()
        drawn = hashlib.shake_128(text).digest(8 * self.rounds)
        return np.frombuffer(drawn, dtype="<u8")
