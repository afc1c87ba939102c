"""Answers of many histograms at once, from what every report contributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.fourier_designs import exact_answer
from support.histograms import histogram_of
from support.surveys import integer, survey_toml

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.designer import design
from ldpsql.engine.sample import Estimators
from ldpsql.mechanisms.fourier import design as design_module
from ldpsql.mechanisms.fourier.contributions import bare
from ldpsql.mechanisms.fourier.covariances import ADDED_PEOPLE
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import mix
from ldpsql.mechanisms.fourier.grouped import _Sets, answer_sets, contributions, find_patterns
from ldpsql.mechanisms.fourier.spectra import BoxQuery
from ldpsql.mechanisms.fourier.translates import Translate
from ldpsql.reports.report import Histogram, Histograms
from ldpsql_lab.simulation import SeededEntropy

SETS, REPORTS = 5, 60


def make(form: str, epsilon: str = "1", **options: object) -> FourierDesign:
    text = survey_toml(
        integer("a", 0, 11),
        integer("b", 0, 9),
        integer("c", 0, 5),
        epsilon=epsilon,
        mechanism="fourier",
        options={"form": form, **options},
        workload={"max_predicates": 2},
    )
    made = design(text).design
    assert isinstance(made, FourierDesign)
    return made


def several(made: FourierDesign, reports: int) -> tuple[Histograms, list[Histogram]]:
    entropy = SeededEntropy(4)
    codes = np.stack([np.arange(reports) % size for size in (12, 4, 2)], axis=1)
    parts = [histogram_of(made.randomize(codes, entropy)) for _ in range(SETS)]
    columns = zip(*(part.columns for part in parts), strict=True)
    starts = np.cumsum([0, *(len(part.counts) for part in parts)])
    together = Histograms(
        parts[0].types,
        [(number,) for number in range(SETS)],
        starts,
        tuple(np.concatenate(own) for own in columns),
        np.concatenate([part.counts for part in parts]),
        {},
    )
    return together, parts


def alone(part: Histogram, row: int) -> Histogram:
    """One report of a row of a histogram."""
    columns = tuple(column[row : row + 1] for column in part.columns)
    return Histogram(part.types, columns, np.ones(1, dtype=np.int64))


@pytest.mark.parametrize("form", ["listed", "product"])
def test_sums_of_contributions_and_of_their_products(form: str) -> None:
    """Of every report by itself, decoded: an answer is their sum, a variance that of so many."""
    made = make(form)
    assert bool(made.table.products) is (form == "product")
    together, parts = several(made, REPORTS)
    boxes = [Box((((2, 6),), ((1, 3),), None)), Box((None, ((0, 5),), None))]
    row = [made.prepare(LinearQuery.count(box)) for box in boxes]
    found = made.answer_sets("unbiased", together, [row])
    assert found is not None
    for number, part in enumerate(parts):
        each = [made.estimator(alone(part, own)).values(row) for own in range(len(part.counts))]
        values = part.counts @ np.array(each)
        np.testing.assert_allclose(found[0][number, 0], values, rtol=1e-8, atol=1e-8)
        moments = np.einsum("r,ra,rb->ab", part.counts, each, each)
        spread = moments - np.outer(values, values) / REPORTS
        even = ADDED_PEOPLE * made._shared.covariance(tuple(row))
        np.testing.assert_allclose(found[1][number, 0], spread + even, rtol=1e-8, atol=1e-8)
        usual = made.estimator(part).answer(row)
        np.testing.assert_allclose(usual.values, values, rtol=1e-8, atol=1e-8)


def test_what_cut_bins_are_off_by_is_in_the_variances() -> None:
    """As enumerated, report by report; error bars of one decoded histogram hold them, too."""
    made = make("listed", "4", bins=4)
    assert made.group.is_coarse
    together, parts = several(made, 5_000)
    boxes = [Box((((2, 7),), None, None)), Box((((2, 5),), ((0, 5),), None))]
    row = [made.prepare(LinearQuery.count(box)) for box in boxes]
    found = made.answer_sets("unbiased", together, [row])
    assert found is not None
    for number, part in enumerate(parts):
        own = made.estimator(part)
        answer, spread = own.answer(row), own._answer_spread([row])[0]
        assert (np.diagonal(answer.covariance) > np.diagonal(spread.covariance)).any()
        values, covariance = exact_answer(made, part, row)
        np.testing.assert_allclose(answer.values, values, rtol=1e-8)
        np.testing.assert_allclose(found[0][number, 0], values, rtol=1e-8)
        np.testing.assert_allclose(found[1][number, 0], covariance, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(answer.covariance, covariance, rtol=0.15)  # from a sample


def test_contributions_are_those_of_all_phases() -> None:
    """What depends on some axes alone is worked out for their phases, for several queries at once,
    of families that were drawn."""
    made = make("listed")
    together, _ = several(made, REPORTS)
    boxes = [Box((((2, 6),), None, None)), Box((None, None, ((0, 2),))), Box((None, None, None))]
    # These are one query moved about, whose contributions are read at other phases.
    boxes += [Box((((5, 9),), None, None))]
    boxes += [Box((((a, a + 3),), ((b, b + 1),), None)) for a, b in ((0, 0), (4, 7), (9, 9))]
    queries = [bare(made.prepare(LinearQuery.count(box))) for box in boxes]
    rows, shared = together.load(), made._shared
    families, phases = rows.columns
    starts = np.concatenate([[0], np.cumsum(made.table.phases)])
    cells = starts[families] + phases
    patterns = find_patterns(shared.collected, queries).values()
    assert [[number for number, _ in own] for own in patterns] == [[0, 3], [1], [2], [4, 5, 6]]
    found = contributions(shared, queries, rows)

    def list_all(query: BoxQuery) -> np.ndarray:
        """Contributions of every phase of every family."""
        divided = [made.collected.divide(made.collected.spectrum(query))]
        parts = []
        for own in made.table.clusters:
            (axes,), _, (batch,) = mix([own], made.collected.odds, np.arange(len(own)), (), 1 << 30)
            parts.append(batch.correlate(made.group.spread(divided, axes)).ravel())
        return np.concatenate(parts)

    for number, query in enumerate(queries):
        np.testing.assert_allclose(found[number], list_all(query)[cells], rtol=1e-9, atol=1e-9)
    # A wrong phase of a factor that moves would tell something else.
    assert not np.allclose(found[0], list_all(queries[0])[starts[families]])
    assert not np.allclose(found[5], found[6])


def test_few_sets_of_a_large_design_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all phases of all sets are more than what reports contribute to a few queries."""
    made = make("listed")
    together, _ = several(made, REPORTS)
    box = Box((((2, 6),), None, None))
    row = [made.prepare(LinearQuery.count(box))]
    monkeypatch.setattr(design_module, "SEVERAL", SETS + 1)
    assert not made.prefers_sets(together, [row])
    monkeypatch.setattr(design_module, "MOST_DECODED", 1)
    assert made.prefers_sets(together, [row])

    def each(lengths: bool) -> list[list[BoxQuery]]:
        places = [(a, b) for a in range(6) for b in range(6)]
        boxes = [
            Box((((0 if lengths else a, a + 1),), ((0 if lengths else b, b + 1),), None))
            for a, b in places
        ]
        return [[made.prepare(LinearQuery.count(own))] for own in boxes]

    assert not made.prefers_sets(together, each(lengths=True))
    assert made.prefers_sets(together, each(lengths=False))  # one query, moved about


def test_a_whole_survey_that_keeps_no_sums_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question without public keys is answered alike, and design says what is not kept."""
    made = make("listed")
    assert made.decoding is not None and not any("decoded" in own for own in made.remarks)
    monkeypatch.setattr(design_module, "MOST_KEPT", 100)
    assert made.decoding is None and any("a store keeps at most" in own for own in made.remarks)
    _, parts = several(made, REPORTS)
    row = [made.prepare(LinearQuery.count(Box((((2, 6),), None, None))))]
    usual = Estimators(made, "unbiased", [((), parts[0])])
    assert usual.answer_all([row]) is None
    monkeypatch.setattr(design_module, "MOST_DECODED", 1)
    found = Estimators(made, "unbiased", [((), parts[0])]).answer_all([row])
    assert found is not None
    np.testing.assert_allclose(found[0][0, 0], usual[()].values(row), rtol=1e-9)
    own = Estimators(made, "unbiased", [((), parts[0])])
    for each in own.answer_rows((), [row, row]):
        np.testing.assert_array_equal(each.values, found[0][0, 0])
        np.testing.assert_array_equal(each.covariance, found[1][0, 0])
    longer = [row, [*row, *row], []]
    assert [len(each) for each in own.answer_rows((), longer)] == [1, 2, 0]
    assert [len(each) for each in own.answer_rows((), [[], []])] == [0, 0]
    nobody = Histogram(
        parts[0].types, tuple(own[:0] for own in parts[0].columns), parts[0].counts[:0]
    )
    assert Estimators(made, "unbiased", [((), nobody)]).answer_all([row]) is None
    assert Estimators(made, "unbiased", []).answer_all([row]) is None


def test_keys_alone_ask_nothing_of_a_survey_without_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its few reports are answered together."""
    monkeypatch.setattr(design_module, "MOST_DECODED", 1)
    made = make("listed")
    _, parts = several(made, REPORTS)
    own = Estimators(made, "unbiased", [((), parts[0])])
    assert [len(found.values) for found in own.answer_rows((), [[], []])] == [0, 0]


@pytest.mark.parametrize("sets", [1, SETS])
def test_queries_moved_about_are_correlated_with_all_reports_at_once(sets: int) -> None:
    """Counts of people and sums of what is public of them, as of one row after the other; some
    families tell nothing of the axes that are asked about, and the whole is known, too."""
    made = make("listed")
    together, _ = several(made, 4_000)
    (together,) = list(together.parts(sets))[:1]
    pay = Weight("pay")
    amounts = np.random.default_rng(7).random(len(together.counts))
    paid = together.counts * amounts
    weighed = replace(together, moments={(pay, None): paid, (pay, pay): paid * amounts})
    boxes = [Box((((a, a + 1),), ((3, 7),), None)) for a in range(12)]
    rows = [
        [
            made.prepare(LinearQuery.count(box)),
            replace(made.prepare(LinearQuery.count(box)), weight=pay, known=known),
        ]
        for known in (0.0, 0.5)
        for box in boxes
    ]
    divided = _Sets(made._shared, weighed).divide_rows([*map(tuple, rows)])
    assert [len(members) for members in divided[0]] == [24]
    assert not divided[1]
    values, covariances = answer_sets(made._shared, weighed, rows)
    alone = [answer_sets(made._shared, weighed, [row]) for row in rows]
    for number, (value, covariance) in enumerate(alone):
        np.testing.assert_allclose(values[:, number], value[:, 0], rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(covariances[:, number], covariance[:, 0], rtol=1e-9, atol=1e-8)
    assert not np.allclose(values[:, 0], values[:, 1])
    assert not np.allclose(values[:, 0], values[:, 12])


def test_rows_that_lie_in_one_place_are_added_up() -> None:
    """They differ in what is known of them, and are moved along no axis."""
    made = make("listed", "4", bins=4)
    together, _ = several(made, 200)
    asked = made.prepare(LinearQuery.count(Box((None, ((3, 10),), None))))
    rows = [(replace(asked, known=known),) for known in (0.0, 0.5)]
    assert not Translate.of(rows[0], made.group).moved
    # So few phases that a correlation would take less time.
    sets = _Sets(made._shared, together)
    assert sets.divide_rows(rows) == ([], rows)
    values, _ = answer_sets(made._shared, together, rows)
    np.testing.assert_allclose(values[:, 1] - values[:, 0], 100.0)
