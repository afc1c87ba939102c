"""Small plans with every response and every symbol map, for the interpreter's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ldpsql.reports.survey_file import vary
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.odds import Definition
from ldpsql_device.plan import (
    WORDS,
    Arcs,
    Bits,
    Comb,
    Digit,
    Face,
    Hash,
    Keep,
    Ladder,
    Parity,
    Part,
    Plan,
    RowsOfWords,
    Rung,
    Scrambled,
    Staircase,
    Step,
    Term,
)

_LOCAL = Definition("local")


@dataclass(frozen=True)
class Case:
    """A plan, what it promises, and by how much the stated odds may exceed the enumerated ones."""

    name: str
    plan: Plan
    epsilon: str | None = "1"
    definition: Definition = _LOCAL
    slack: Fraction = 1 + Fraction(1, 1 << 40)

    def compared(self, record: Sequence[Sequence[int]], column: Sequence[Fraction]) -> list[int]:
        """The records, by number, among which the definition limits a report."""
        senders = [r for r, chance in zip(record, column, strict=True) if chance]
        everybody = list(range(len(record)))
        if self.definition.kind == "local" or not senders:
            return everybody
        sensitive = [set(codes) for codes in self.definition.sensitive]
        if self.definition.kind == "uldp":
            is_held = any(x in codes for x, codes in zip(senders[0], sensitive, strict=True))
            return everybody if len(senders) > 1 or is_held else [record.index(senders[0])]
        fixed = [
            j
            for j, codes in enumerate(sensitive)
            if senders[0][j] not in codes and len({sender[j] for sender in senders}) == 1
        ]
        return [i for i in everybody if all(record[i][j] == senders[0][j] for j in fixed)]


def budget(epsilon: str) -> int:
    """e^epsilon in units of 2^-64, rounded down."""
    return int(Epsilon.parse(epsilon).odds * WORDS)


def digit(*terms: Term, radix: int, modulus: bool = False) -> Digit:
    """A digit of one number of values."""
    return Digit(terms, radix, modulus=modulus)


_ONE = (budget("1"),)


def _grr() -> Plan:
    part = Part((digit(Term(0), radix=5),), Arcs(0, (1,)))
    return Plan((5,), _ONE, (Face(1, (part,)),))


def _nodes() -> Plan:
    """Two level combinations of 6 x 4 codes, one face; and a root, which tells nothing."""
    terms = (
        Term(0, vary(0, [2, 1]), vary(0, [2, 3])),
        Term(1, vary(0, [1, 2]), vary(0, [2, 4])),
    )
    part = Part((Digit(terms, vary(0, [6, 2])),), Arcs(0, (1,)))
    root = Part((digit(Term(0, 0), radix=1),), Arcs(0, (1,)))
    return Plan((6, 4), _ONE, (Face(3, (part,), (Step((5, 9)),)), Face(2, (root,))))


def _arcs() -> Plan:
    """Two factors of 5 and 4 phases, intervals that differ by question."""
    digits = (
        Digit((Term(0, vary(0, [1, 2, 3])),), 5, modulus=True),
        Digit((Term(1, vary(0, [1, 3, 2])),), vary(0, [4, 4, 2]), modulus=True),
    )
    part = Part(digits, Arcs(0, (vary(0, [2, 3, 1]), vary(0, [1, 2, 1]))))
    return Plan((5, 4), _ONE, (Face(1, (part,), (Step((1, 5, 3), (0, 2, 4)),)),))


def _product() -> Plan:
    """Two steps, one per axis, and a look-up into merged bins."""
    digits = (
        Digit((Term(0, vary(0, [1, 3]), cuts=0),), 4, modulus=True),
        Digit((Term(1, vary(1, [1, 2, 4])),), 5, modulus=True),
    )
    part = Part(digits, Arcs(0, (vary(0, [1, 2]), vary(1, [1, 2, 3]))))
    steps = (Step((2, 1)), Step((1, 1, 2)))
    return Plan((7, 5), _ONE, (Face(1, (part,), steps),), ((2, 3, 6),))


def _listed() -> Plan:
    comb = Part(
        (Digit((Term(0, vary(0, [1, 5])),), 12, modulus=True),),
        Comb(0, vary(0, [4, 5]), vary(0, [8, 12]), vary(0, [2, 5])),
    )
    shape = (digit(Term(0, 1, 4), radix=3), digit(Term(1), radix=2))
    circle = digit(Term(0), radix=12, modulus=True)
    one = Part((*shape, digit(Term(0, 0), radix=1)), Scrambled(0, 2, 17, 1))
    turned = Part((*shape, circle), Scrambled(0, 4, 18, 2))
    faces = (Face(4, (comb,), (Step((3, 2)),)), Face(2, (one,)), Face(1, (turned,)))
    return Plan((12, 2), _ONE, faces)


def _olh() -> Plan:
    prime = vary(0, [5, 3])
    flat = Digit((Term(0, 1, vary(0, [1, 2])),), vary(0, [5, 3]))
    part = Part((flat,), Arcs(0, (1,)), Hash(prime, 3, 0, 1))
    coins = (vary(0, [4, 2]), prime)
    return Plan((5,), _ONE, (Face(1, (part,), (Step((1, 1)),), coins),))


def _hrr() -> Plan:
    part = Part((digit(Term(0), radix=6),), Arcs(0, (1,)), Parity(0, 2, 1))
    return Plan((6,), _ONE, (Face(1, (part,), (), (4,)),))


def _budgets() -> Plan:
    """Two parts about one attribute, which share a budget."""
    coarse = Part((digit(Term(0, 1, 2), radix=2),), Arcs(0, (1,)))
    fine = Part((digit(Term(0), radix=4),), Arcs(1, (1,)))
    return Plan((4,), (budget("0.4"), budget("0.6")), (Face(1, (coarse, fine)),))


def _joint() -> Plan:
    """A look-up table over two attributes together."""
    joint = Digit((Term(0, 3), Term(1)), 4, table=0)
    part = Part((joint,), Arcs(0, (1,)))
    return Plan((2, 3), _ONE, (Face(1, (part,)),), ((3, 1, 1, 0, 2, 3),))


def _ladder() -> Plan:
    """Utility-optimised response to two attributes; each has values that are not sensitive.

    A record of class S draws the digits of every T that contains S anew with so many words for
    each of the cells of T, and keeps the rest: the more, the more of it is sensitive.
    """
    held, unit = (2, 1), WORDS // 40
    cells = {1: 2, 2: 1, 3: 2}
    ladders = []
    for own in range(4):
        over = [kind for kind in (1, 2, 3) if kind & own == own]
        drawn = [Rung(unit + own, tuple(j for j in range(2) if kind >> j & 1)) for kind in over]
        empty = [Rung(0) for _ in range(3 - len(over))]
        ladders.append((*drawn, *empty, Rung(0)))
    assert cells[3] * 3 * unit < WORDS
    digits = tuple(digit(Term(a, table=a), radix=(4, 3)[a]) for a in range(2))
    part = Part(digits, Ladder(held, tuple(ladders)))
    return Plan((4, 3), (), (Face(1, (part,)),), ((2, 0, 1, 3), (0, 1, 2)))


def _rows() -> Plan:
    half = WORDS // 2
    rows = ((half, half, 0), (half - 5, 6, half - 1), (0, WORDS - 1, 1))
    return Plan((3,), (), (Face(1, (Part((digit(Term(0), radix=3),), RowsOfWords(rows)),)),))


def _staircase() -> Plan:
    """Three answers, of which two favour two symbols."""
    favoured = ((0b011,), (0b110,), (0b101,))
    unit = WORDS * WORDS // (2 * budget("1") + WORDS)
    response = Staircase(3, budget("1"), (unit, unit - 3, unit), favoured)
    return Plan((3,), (), (Face(1, (Part((digit(Term(0), radix=3),), response),)),))


def _oue() -> Plan:
    other = -(-WORDS * WORDS // (WORDS + budget("1")))
    part = Part(
        (Digit((Term(0, 1, vary(0, [1, 2])),), vary(0, [4, 2])),),
        Bits((WORDS // 2,), (other,)),
    )
    return Plan((4,), (), (Face(1, (part,), (Step((1, 2)),)),))


def _urap() -> Plan:
    """Two sensitive values and two others, one of which is named now and then."""
    third = WORDS // 3
    name = Part(
        (digit(Term(0, table=0), radix=3),),
        Ladder((1,), ((Rung(third, (0,)), Rung(0)), (Rung(WORDS - 1, (0,)), Rung(0)))),
    )
    bits = Part(
        (digit(Term(0), radix=4),), Bits((third * 2, third * 2, 0, 0), (third, third, 0, 0))
    )
    return Plan((4,), (), (Face(1, (name, bits)),), ((0, 0, 1, 2),))


def _secret() -> Plan:
    """One response over the cells of two marginals, of which one is drawn in secret."""
    size = vary(0, [1, 0])
    cell = Digit((Term(0, size), Term(1, vary(0, [0, 1]))), 7, vary(0, [0, 3]))
    part = Part((cell,), Arcs(0, (1,)))
    # e' = 1 + (e - 1) / p hides which marginal was drawn, with probability p at most.
    odds = int((1 + (Epsilon.parse("1").odds - 1) * 2) * WORDS) - (1 << 20)
    return Plan((3, 4), (odds,), (Face(1, (part,), (Step((1, 1), (), True),)),))


def _kept() -> Plan:
    """A true node among two fakes, as published and not private."""
    cell = Digit((Term(0, 1, vary(0, [3, 1])),), 4, vary(0, [0, 1]))
    part = Part((cell,), Keep(), fakes=1)
    return Plan((3,), (), (Face(1, (part,), (Step((1, 3), (), True),)),))


EVERY_PLAN = [
    Case("grr", _grr()),
    Case("nodes", _nodes()),
    Case("arcs", _arcs()),
    Case("product of steps", _product()),
    Case("comb and scrambled", _listed()),
    Case("hash", _olh()),
    Case("parity", _hrr()),
    Case("split budgets", _budgets()),
    Case("joint table", _joint()),
    Case("bits", _oue()),
    Case("ladder", _ladder(), None, Definition("uldp-joint", ((1, 2), (0,)))),
    Case("ladder and bits", _urap(), None, Definition("uldp", ((0, 1),))),
    Case("secret step", _secret(), slack=Fraction(5, 4)),
    Case("rows", _rows(), None),
    Case("staircase", _staircase()),
    Case("kept", _kept(), None),
]
