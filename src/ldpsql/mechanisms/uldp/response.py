"""Public. Sees parameters. One randomized response over attributes with sensitive values.

Attribute j has sizes[j] ranks, the first held[j] of which are sensitive. Sets of attributes are bit
masks. A record whose sensitive attributes are exactly S is of *kind* S, and so is a report. With
one 64-bit word a record of kind S answers, for every T that contains S, with each of the

    m_T = product of held[j] over j in T

cells that are sensitive in T and agree with it elsewhere for words[S, T] words, and with itself for
the rest. The channel is square, and solving with it goes kind by kind, without a matrix.
Specification: uldp, sections 2, 6 and 6.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Outcome, Words
from ldpsql.mechanisms.draws import SPACE
from ldpsql_device.errors import SurveyError

Mask = int
Block = tuple[slice, ...]


@dataclass(frozen=True)
class Shape:
    """The attributes of a response: sizes, and how many of the first ranks are sensitive."""

    sizes: tuple[int, ...]
    held: tuple[int, ...]

    @cached_property
    def kinds(self) -> tuple[Mask, ...]:
        """The kinds of which there are records, those with few sensitive attributes first."""
        found = [mask for mask in range(1 << len(self.sizes)) if self._exists(mask)]
        return tuple(sorted(found, key=lambda mask: (mask.bit_count(), mask)))

    def _exists(self, mask: Mask) -> bool:
        return all(
            held if mask >> j & 1 else size > held
            for j, (size, held) in enumerate(zip(self.sizes, self.held, strict=True))
        )

    def above(self, kind: Mask) -> list[Mask]:
        """The other kinds that are sensitive wherever this one is."""
        return [mask for mask in self.kinds if mask != kind and mask & kind == kind]

    def below(self, kind: Mask) -> list[Mask]:
        """The other kinds that are sensitive only where this one is."""
        return [mask for mask in self.kinds if mask != kind and mask & kind == mask]

    def cells(self, kind: Mask) -> int:
        """m_T: the sensitive combinations of the attributes of a kind."""
        return math.prod(held for j, held in enumerate(self.held) if kind >> j & 1)

    def block(self, kind: Mask) -> Block:
        """Where the cells of a kind lie in a table of the sizes."""
        return tuple(
            slice(0, held) if kind >> j & 1 else slice(held, size)
            for j, (size, held) in enumerate(zip(self.sizes, self.held, strict=True))
        )

    def axes(self, kind: Mask) -> tuple[int, ...]:
        """The attributes of a kind."""
        return tuple(j for j in range(len(self.sizes)) if kind >> j & 1)

    def kind_of(self, ranks: Outcome) -> Mask:
        """The kind of a record or report."""
        pairs = zip(ranks, self.held, strict=True)
        return sum((rank < held) << j for j, (rank, held) in enumerate(pairs))


@dataclass(frozen=True)
class Response:
    """The integers of the channel: words[S, T] out of 2^64 for one cell of kind T under kind S.

    SurveyError unless every record keeps some probability to answer with itself alone.
    """

    shape: Shape
    words: Mapping[tuple[Mask, Mask], int]

    def __post_init__(self) -> None:
        if min(self.extra.values()) <= 0 or min(self.words.values(), default=1) < 1:
            raise SurveyError("the probabilities of the response do not leave room for the truth")

    @cached_property
    def extra(self) -> Mapping[Mask, int]:
        """Words with which a record of each kind answers with itself, beside its share of a set."""
        shape = self.shape
        return {
            kind: SPACE
            - sum(self.words[kind, mask] * shape.cells(mask) for mask in self.targets(kind))
            for kind in shape.kinds
        }

    def targets(self, kind: Mask) -> list[Mask]:
        """The kinds over which a record of this kind spreads evenly."""
        return [*([kind] if kind else []), *self.shape.above(kind)]

    # -- device ---------------------------------------------------------------------------------

    def draw(self, ranks: Codes, words: Words) -> Codes:
        """Device. The reported ranks (n, d) of records (n, d), each from one word."""
        held = np.array(self.shape.held, dtype=np.int64)
        kinds = ((ranks < held) << np.arange(len(held))).sum(axis=1)
        starts, ends, widths = self._ladder
        place = (words[:, None] >= ends[kinds]).sum(axis=1)
        index = ((words - starts[kinds, place]) // widths[kinds, place]).astype(np.int64)
        result = ranks.copy()
        for j in range(len(held)):
            spread = (place < ends.shape[1]) & (place >> j & 1 == 1)
            base = np.where(spread, held[j], 1)
            result[:, j] = np.where(spread, index % base, ranks[:, j])
            index //= base
        return result

    @cached_property
    def _ladder(self) -> tuple[Words, Words, Words]:
        """Per kind: first word and words per cell of each set T and of the truth, last words."""
        masks = 1 << len(self.shape.sizes)
        starts = np.zeros((masks, masks + 1), dtype=np.uint64)
        ends = np.zeros((masks, masks), dtype=np.uint64)
        widths = np.ones((masks, masks + 1), dtype=np.uint64)
        for kind in self.shape.kinds:
            place = 0
            for mask in range(masks):
                starts[kind, mask] = place
                if (kind, mask) in self.words:
                    place += self.words[kind, mask] * self.shape.cells(mask)
                    widths[kind, mask] = self.words[kind, mask]
                ends[kind, mask] = place
            starts[kind, masks] = place
        return starts, ends, widths

    # -- exact ----------------------------------------------------------------------------------

    def law(self, ranks: Outcome) -> Iterator[tuple[Outcome, Fraction]]:
        """Every report of a record, with its exact probability."""
        kind = self.shape.kind_of(ranks)
        for mask in self.targets(kind):
            sides = [
                range(held) if mask >> j & 1 else (ranks[j],)
                for j, held in enumerate(self.shape.held)
            ]
            for cell in product(*sides):
                own = self.extra[kind] if mask == kind and cell == ranks else 0
                yield cell, Fraction(self.words[kind, mask] + own, SPACE)
        if not kind:
            yield ranks, Fraction(self.extra[kind], SPACE)

    def odds(self) -> Fraction:
        """Largest odds of a report of kind T under two records that agree outside T."""
        return max(self._odds_of(kind) for kind in self.shape.kinds)

    def _odds_of(self, kind: Mask) -> Fraction:
        chances = [self.words[other, kind] for other in self.shape.below(kind)] if kind else []
        if kind:
            chances.append(self.words[kind, kind] + self.extra[kind])
            if self.shape.cells(kind) > 1:
                chances.append(self.words[kind, kind])
        return Fraction(max(chances), min(chances)) if chances else Fraction(1)

    def disclosure(self, attribute: int) -> float:
        """Largest probability that a value which is not sensitive is given away."""
        return max(
            (
                1.0 - sum(self._share(kind, mask) for mask in self.targets(kind) if mask & bit)
                for bit in (1 << attribute,)
                for kind in self.shape.kinds
                if not kind & bit
            ),
            default=0.0,
        )

    def _share(self, kind: Mask, mask: Mask) -> float:
        return self.words[kind, mask] * self.shape.cells(mask) / SPACE

    # -- collector ------------------------------------------------------------------------------

    def forward(self, values: Array) -> Array:
        """C v: what a report is worth on average under each record; values (*sizes, k)."""
        shape, result = self.shape, np.empty_like(values)
        for kind in shape.kinds:
            result[shape.block(kind)] = values[shape.block(kind)] * self._keep(kind)
        for mask in filter(None, shape.kinds):
            total = values[shape.block(mask)].sum(axis=shape.axes(mask), keepdims=True)
            for kind in (mask, *shape.below(mask)):
                result[shape.block(kind)] += self._chance(kind, mask) * total
        return result

    def backward(self, values: Array) -> Array:
        """v C: expected reports of so many records; values (*sizes, k)."""
        shape, result = self.shape, np.empty_like(values)
        for mask in shape.kinds:
            result[shape.block(mask)] = values[shape.block(mask)] * self._keep(mask)
            for kind in (mask, *shape.below(mask)) if mask else ():
                total = values[shape.block(kind)].sum(axis=shape.axes(mask), keepdims=True)
                result[shape.block(mask)] += self._chance(kind, mask) * total
        return result

    def solve(self, values: Array) -> Array:
        """u with C u = values: the weight of each report; values (*sizes, k)."""
        shape, found = self.shape, np.empty_like(values)
        for kind in reversed(shape.kinds):
            rest = values[shape.block(kind)].copy()
            for mask in shape.above(kind):
                total = found[shape.block(mask)].sum(axis=shape.axes(mask), keepdims=True)
                rest -= self._chance(kind, mask) * total
            found[shape.block(kind)] = self._untangled(kind, rest)
        return found

    def solve_reports(self, values: Array) -> Array:
        """f with f C = values: the records behind so many reports; values (*sizes, k)."""
        shape, found = self.shape, np.empty_like(values)
        for mask in shape.kinds:
            rest = values[shape.block(mask)].copy()
            for kind in shape.below(mask) if mask else ():
                total = found[shape.block(kind)].sum(axis=shape.axes(mask), keepdims=True)
                rest -= self._chance(kind, mask) * total
            found[shape.block(mask)] = self._untangled(mask, rest)
        return found

    def _untangled(self, kind: Mask, rest: Array) -> Array:
        """x with keep x + chance (sum of x over the sensitive cells) = rest."""
        keep = self._keep(kind)
        if not kind:
            return np.asarray(rest / keep)
        chance = self._chance(kind, kind)
        total = rest.sum(axis=self.shape.axes(kind), keepdims=True)
        return np.asarray((rest - chance * total / (keep + self.shape.cells(kind) * chance)) / keep)

    def _keep(self, kind: Mask) -> float:
        return self.extra[kind] / SPACE

    def _chance(self, kind: Mask, mask: Mask) -> float:
        return self.words[kind, mask] / SPACE


Apply = Callable[[Response, Array], Array]
