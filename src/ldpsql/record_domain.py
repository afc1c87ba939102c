"""What a mechanism is designed for: the sizes and bounds of a record's private columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldpsql_device.schema import Dimension, Schema


@dataclass(frozen=True)
class RecordDomain:
    """What a mechanism needs to know of a schema: sizes and bounds, no meanings.

    sizes: codes per dimension, shape (d,).  measures: bounds per measure, shape (k, 2).
    measured: for each measure the index of the dimension on the same attribute, or None.
    unordered: for each dimension how many codes, the last ones, have no neighbours: that of NULL,
    and all of a category; none where it is empty.
    sensitive: for each dimension its sensitive codes in ascending order, empty where all are; no
    entries at all where no dimension declares any.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    measure_names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    measured: tuple[int | None, ...]
    unordered: tuple[int, ...] = ()
    sensitive: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, schema: Schema) -> RecordDomain:
        """The sizes and bounds of a schema's private columns."""
        dimensions, measures = schema.dimensions, schema.measures
        position = {dimension.name.lower(): i for i, dimension in enumerate(dimensions)}
        declared = tuple(dimension.sensitive for dimension in dimensions)
        return cls(
            tuple(dimension.name for dimension in dimensions),
            tuple(dimension.size for dimension in dimensions),
            tuple(measure.name for measure in measures),
            tuple(measure.bounds for measure in measures),
            tuple(position.get(measure.name.lower()) for measure in measures),
            tuple(count_unordered(dimension) for dimension in dimensions),
            declared if any(declared) else (),
        )

    @property
    def record_sizes(self) -> tuple[int, ...]:
        """Codes of every attribute of an encoded record: dimensions, then signs of measures."""
        return (*self.sizes, *(2 for _ in self.bounds))

    def sensitive_codes(self, dimension: int) -> tuple[int, ...]:
        """The sensitive codes of a dimension: all of them unless some were declared."""
        declared = self.sensitive[dimension] if self.sensitive else ()
        return declared or tuple(range(self.sizes[dimension]))

    @property
    def is_all_sensitive(self) -> bool:
        """Whether no value of any dimension was left out of the sensitive ones."""
        return not any(self.sensitive)

    @property
    def has_nonsensitive_records(self) -> bool:
        """Whether a record can be without any sensitive value: every dimension has others."""
        return bool(self.sensitive) and all(self.sensitive)

    def unordered_codes(self, dimension: int) -> int:
        """How many of the last codes of a dimension have no neighbours."""
        return self.unordered[dimension] if self.unordered else 0

    def to_json(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        lists = {name: list(value) for name, value in vars(self).items()}
        lists["bounds"] = [list(pair) for pair in self.bounds]
        lists["sensitive"] = list(map(list, self.sensitive))
        return lists if self.sensitive else {k: v for k, v in lists.items() if k != "sensitive"}


def count_unordered(dimension: Dimension) -> int:
    """How many codes, the last ones, have no neighbours: that of NULL, or all where the values have
    no order."""
    is_ordered = dimension.domain.type not in ("category", "bool")
    return dimension.size - dimension.domain.size if is_ordered else dimension.size
