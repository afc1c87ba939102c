from decimal import Decimal
from fractions import Fraction
from functools import partial

import pytest

from ldpsql.shuffle import (
    Blanket,
    clones,
    delta_of,
    epsilon_of_batch,
    keeps,
    largest_local,
    largest_local_of_any,
    randomized_response,
)
from ldpsql.shuffle.closed import balle, balle_local, clones_2021, clones_2022
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Central


def rr(size: int, local: Epsilon) -> tuple[Blanket, ...]:
    return (randomized_response(size, local.odds / (local.odds + size - 1)),)


def central(epsilon: str, people: int) -> Central:
    return Central(Epsilon.parse(epsilon), Fraction(1, people), people)


TABLE = [
    # people, central, any mechanism, k = 2, 10, 50, 200 (specification shuffle, section 2.3)
    (10**4, "0.2", 2.87, (3.43, 3.61, 4.01, 4.52)),
    (10**4, "0.5", 4.28, (4.94, 5.00, 5.19, 5.54)),
    (10**4, "1.0", 5.35, (6.03, 6.05, 6.14, 6.38)),
    (10**5, "0.2", 4.58, (5.25, 5.28, 5.43, 5.74)),
    (10**5, "0.5", 6.19, (6.88, 6.88, 6.92, 7.04)),
    (10**5, "1.0", 7.32, (8.01, 8.01, 8.03, 8.08)),
    (10**6, "0.2", 6.54, (7.23, 7.24, 7.26, 7.35)),
    (10**6, "0.5", 8.21, (8.90, 8.90, 8.91, 8.93)),
    (10**6, "1.0", 9.37, (10.06, 10.06, 10.07, 10.07)),
]


@pytest.mark.parametrize(("people", "epsilon", "any_mechanism", "wanted"), TABLE)
def test_the_specifications_table(people, epsilon, any_mechanism, wanted):
    """The figures have two decimals and were computed on a coarser grid."""
    goal, off = central(epsilon, people), 0.0065
    figures = [(lambda e: (clones(e.odds),), any_mechanism)]
    figures += [(partial(rr, size), f) for size, f in zip((2, 10, 50, 200), wanted, strict=True)]
    for blankets_at, figure in figures:
        below, above = (Epsilon.parse(round(figure + sign * off, 4)) for sign in (-1, 1))
        assert keeps(blankets_at(below), goal, below)
        assert not keeps(blankets_at(above), goal, above)


def test_any_mechanism_gets_what_clones_give():
    assert float(largest_local_of_any(central("0.5", 10**5))) == pytest.approx(6.19, abs=0.0065)


def test_the_found_local_epsilon_keeps_and_the_next_does_not():
    goal = central("0.3", 20_000)
    found = largest_local(lambda local: rr(5, local), goal)
    assert keeps(rr(5, found), goal, found)
    above = Epsilon(found.value + Decimal("0.001"))
    assert not keeps(rr(5, above), goal, above)


def test_the_central_epsilon_itself_is_always_kept():
    """Ten people hide nobody at delta 1e-9, but a local promise needs nobody else."""
    goal = Central(Epsilon.parse("0.7"), Fraction(1, 10**9), 10)
    found = largest_local(lambda local: rr(2, local), goal)
    assert found.value >= Decimal("0.7")
    assert keeps(rr(2, found), goal, found)


@pytest.mark.parametrize(
    ("size", "local", "wanted"),
    [(2, "1", 0.0097), (2, "2", 0.0269), (2, "4", 0.0989), (50, "1", 0.0021), (50, "2", 0.0092),
     (50, "4", 0.0702)],
)  # fmt: skip
def test_what_a_batch_achieves(size, local, wanted):
    people, delta = 10**5, Fraction(1, 10**5)
    blankets = rr(size, Epsilon.parse(local))
    found = epsilon_of_batch(blankets, people, delta)
    assert float(found) == pytest.approx(wanted, rel=0.02)
    assert delta_of(blankets, people, found) <= delta
    assert delta_of(blankets, people, found * Decimal("0.998")) > delta
    assert len(found.as_tuple().digits) <= 4


def test_never_above_the_local_epsilon():
    local = Epsilon.parse("1.25")
    assert epsilon_of_batch(rr(2, local), 2, Fraction(1, 10**12), local) == local.value


def test_no_epsilon_where_nothing_is_covered():
    half = Fraction(1, 2)
    bare = Blanket(((Fraction(0), half, Fraction(0)), (Fraction(0), half, Fraction(1))))
    assert epsilon_of_batch([bare], 1000, Fraction(1, 1000)) is None


def test_closed_forms():
    assert balle_local(0.5, 10**5, 1e-5, 10) == pytest.approx(4.922, abs=5e-4)
    assert balle_local(0.2, 10**4, 1e-4, 10) is None
    assert balle_local(1.5, 10**5, 1e-5, 10) is None
    assert balle(4.922, 10**5, 1e-5, 10) == pytest.approx(0.5, abs=1e-3)
    assert balle(9.0, 10**4, 1e-4, 10) is None
    assert clones_2021(2.22, 10**5, 1e-5) == pytest.approx(0.2, abs=2e-3)
    assert clones_2021(9.0, 10**4, 1e-4) is None
    assert clones_2022(2.68, 10**5, 1e-5) == pytest.approx(0.2, abs=2e-3)
    assert clones_2022(9.0, 10**4, 1e-4) is None


def test_every_valid_closed_form_is_above_the_accountant():
    local = Epsilon.parse("3")
    for people in (10**4, 10**6):
        delta = 1 / people
        exact = float(epsilon_of_batch(rr(10, local), people, Fraction(1, people)))
        assert exact < balle(3.0, people, delta, 10)
        assert exact < clones_2021(3.0, people, delta)
