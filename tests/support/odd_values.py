"""Values that fail at whatever is done with them."""

from __future__ import annotations


class Strange:
    """Fails at whatever is done with it."""

    def __getattribute__(self, name):
        raise OSError(name)

    __eq__ = __hash__ = __bool__ = __int__ = __float__ = __str__ = __len__ = __getattribute__
