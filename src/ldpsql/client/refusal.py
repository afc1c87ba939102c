"""Runs on the device. Sees raw values. Errors that do not carry a value with them.

`raise ... from None` only hides the first error: it stays in `__context__`, where a crash
reporter or a debugger finds it, and Arrow's texts quote the value that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ldpsql_device.errors import RecordError


@contextmanager
def refusing(
    kinds: type[Exception] | tuple[type[Exception], ...], refuse: Callable[[Exception], RecordError]
) -> Iterator[None]:
    """Raise `refuse(error)` in place of an error of these kinds, without a trace of the latter."""
    try:
        yield
    except kinds as error:
        refusal = refuse(error)
        try:
            raise refusal from None
        finally:
            refusal.__context__ = None
