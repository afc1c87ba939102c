"""Public. Sees parameters. Whether an estimator is one that a mechanism has, before the design.

Which estimators a design has depends at most on how many attributes it has, and some mechanisms
take a certain number, or two codes each: so designs over a few small domains tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ldpsql.recipes.registry import MECHANISMS
from ldpsql.survey import AUTO
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import Error, SurveyError
from ldpsql_device.schema import RecordDomain

_SMALL = tuple(
    RecordDomain(tuple("xyz"[: len(sizes)]), sizes, (), (), ())
    for sizes in ((8,), (4, 4), (2, 2, 2))
)


def check_estimator(
    name: Any, mechanism: str, epsilon: Epsilon, options: Mapping[str, Any]
) -> None:
    """SurveyError for an estimator that the mechanism does not have; for `auto`, that none has.

    Silent where that cannot be told so early: the survey checks it again.
    """
    if name is None:
        return
    if mechanism == AUTO:
        known = list(dict.fromkeys(e for each in MECHANISMS for e in _offered(each, epsilon, {})))
    else:
        known = list(dict.fromkeys(_offered(mechanism, epsilon, options)))
    if known and name not in known:
        whose = "some mechanism" if mechanism == AUTO else mechanism
        raise SurveyError(
            f"[survey]: estimator must be one of {', '.join(known)}, which {whose} has, not "
            f"{name!r}"
        )


def _offered(mechanism: str, epsilon: Epsilon, options: Mapping[str, Any]) -> Iterator[str]:
    """Estimators of a mechanism; none where it can be designed over none of the small domains."""
    if mechanism not in MECHANISMS:
        return
    for domain in _SMALL:
        try:
            yield from MECHANISMS[mechanism].design(domain, epsilon, options).estimators
        except Error:
            continue
