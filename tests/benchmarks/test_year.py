"""The benchmark of a year of answers measures what the reports that nobody sent cost."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import year


@pytest.mark.fast(1)
def test_four_reports_of_a_year_are_hardly_worse_than_four_that_miss_nothing() -> None:
    """The control: people who answered in the first quarter alone would miss the season."""
    found = year.errors(people=4_000, years=60, seed=3)
    (sampled, _), (best, _), (every, _) = (
        year.root_mean_square(found[name]) for name in ("sampled", "nothing missed", "every week")
    )
    # The same draws: what differs is which weeks of whom were seen.
    assert sampled / best < 1.15
    assert every / best > 2.0
    values = year.active_days(np.random.default_rng(3), 4_000)
    assert abs(values[:, :13].mean() - values.mean()) > 3.0 * best


def test_a_year_has_four_answers_by_count() -> None:
    survey = year.survey_of(year.EPSILON, f'sample = "1/{year.EVERY}"')
    assert year.count_answers(survey.schedule) == (4, 52)
