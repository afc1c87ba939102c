"""An estimator that there is not is found before the design."""

from __future__ import annotations

import pytest
from support.surveys import TOML

from ldpsql.designer import design, file
from ldpsql.designer.estimators import check_estimator
from ldpsql.recipes.registry import MECHANISMS
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

EPSILON = Epsilon.parse("1")


def test_misspelt_ones_are_refused() -> None:
    with pytest.raises(
        SurveyError, match=r"one of unbiased, smooth, which fourier has, not 'smoth'"
    ):
        check_estimator("smoth", "fourier", EPSILON, {})
    with pytest.raises(SurveyError, match="which hio has, not 'smooth'"):
        check_estimator("smooth", "hio", EPSILON, {})
    with pytest.raises(SurveyError, match="which some mechanism has, not 'smoth'"):
        check_estimator("smoth", "auto", EPSILON, {})


def test_what_a_mechanism_has_passes_and_what_cannot_be_told_does_too() -> None:
    for name in ("smooth", "unbiased", None):
        check_estimator(name, "fourier", EPSILON, {"bins": 64})
    check_estimator("smooth", "auto", EPSILON, {})
    check_estimator("anything", "no such mechanism", EPSILON, {})
    check_estimator("anything", "hio", EPSILON, {"no such option": 1})


def test_it_is_said_before_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("designed first")

    monkeypatch.setattr(file, "choose", never)
    text = TOML.replace('mechanism = "hgrr"', 'mechanism = "auto"\nestimator = "smoth"')
    assert "smoth" in text
    with pytest.raises(SurveyError, match="smoth"):
        design(text)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("sizes", [(30,), (6, 5), (2, 2)], ids=str)
def test_no_estimator_of_a_larger_domain_is_refused(name: str, sizes: tuple[int, ...]) -> None:
    """What the check relies on."""
    domain = RecordDomain(tuple("xy"[: len(sizes)]), sizes, (), (), ())
    try:
        estimators = MECHANISMS[name].design(domain, EPSILON, {}).estimators
    except SurveyError:
        return
    for estimator in estimators:
        check_estimator(estimator, name, EPSILON, {})


def test_estimators_of_some_numbers_of_attributes_pass() -> None:
    check_estimator("maxent", "srr-ss", EPSILON, {"ways": 2})
    check_estimator("em", "jurr-g", EPSILON, {})
