"""Which cases of a family the fast tier runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def keep_fast(cases: Iterable[Any], representatives: Collection[Any]) -> list[Any]:
    """All cases as parameters; those that others stand for are slow.

    A case with several parameters is a tuple in both.
    """
    missing = set(representatives) - set(cases := list(cases))
    if missing:
        raise ValueError(f"no such cases: {missing}")
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in representatives else pytest.mark.slow,
        )
        for case in cases
    ]
