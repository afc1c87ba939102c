"""Sees raw values, for evaluation only. The people of a user's own table, and samples of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from ldpsql_device.columns import arrow_types
from ldpsql_device.files import read_people
from ldpsql_device.schema import Schema


@dataclass(frozen=True)
class People:
    """People whose records fit a schema: its declared columns, as the types that it declares.

    skipped: how many others the file held.
    """

    table: pa.Table
    skipped: int = 0

    @classmethod
    def read(cls, schema: Schema, source: Path, *, skip_invalid: bool = False) -> People:
        """From Parquet or CSV. RecordError for a column or a record that does not fit."""
        table, skipped = read_people(schema, source, skip_invalid=skip_invalid)
        return cls(_typed(schema, table), skipped)

    def sample(self, users: int | None, seed: int) -> People:
        """So many of them: without replacement where there are enough, else with it.

        None for all of them, as they are.
        """
        if users is None or users == self.table.num_rows:
            return self
        random = np.random.default_rng([seed, users])
        rows = self.table.num_rows
        chosen = np.sort(random.choice(rows, users, replace=users > rows))
        return People(self.table.take(pa.array(chosen)).combine_chunks())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the values."""
        found = hashlib.sha256()
        for batch in self.table.combine_chunks().to_batches():
            found.update(batch.serialize().to_pybytes())
        return found.hexdigest()


def _typed(schema: Schema, table: pa.Table) -> pa.Table:
    types = arrow_types(schema)
    # Records fit already; digits that a type has no room for are dropped, as on the device.
    wanted = pa.schema(list(types.items()))
    return table.select(list(types)).cast(wanted, safe=False).combine_chunks()
