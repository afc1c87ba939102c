"""The table of what `auto` compared."""

from __future__ import annotations

import pytest

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.cli.forecast import comparison, forecast
from ldpsql.designer import design_survey
from ldpsql.designer.auto import Ranking, Trial
from ldpsql.designer.forecast import Forecast, SampledQueries
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql_device.epsilon import Epsilon


@pytest.mark.parametrize(("bins", "is_coarse"), [(16, True), (64, False)])
def test_coarse_bins_are_named_beside_errors_that_leave_them_out(
    bins: int, is_coarse: bool
) -> None:
    domain = RecordDomain(("x",), (64,), (), (), ())
    made = Fourier().design(domain, Epsilon.parse("1"), {"bins": bins})
    asked = (LinearQuery.count(Box((((3, 30),),))),)
    sample = SampledQueries("x range", "COUNT", 1.0, asked, domain)
    candidate = Trial("fourier", {"bins": bins}, Forecast.of(made, [sample], 1000))
    lines = comparison(Ranking((candidate,), {}, None), 1000)
    assert any("fourier counts the people of a coarse bin" in line for line in lines) == is_coarse


def test_shares_of_people_have_no_exponents() -> None:
    """Of ten people an interval is wider than all of them."""
    text = '[survey]\ntable = "app"\nepsilon = "0.5"\nmechanism = "grr"\nusers = 10\n'
    text += '[dimension.age]\ntype = "int"\ndomain = [0, 63]\n'
    [line] = [line for line in forecast(design_survey(text)) if line.endswith("%")]
    share = float(line.split()[-2])
    assert "e+" not in line
    assert share > 1000.0
