"""Frozen dataclasses that are quick to define.

`dataclasses.dataclass(frozen=True)` writes the text of six methods of every class, and compiles it
when the module is imported: half a millisecond for each of hundreds of classes. `frozen` makes the
same classes from closures, and compiles `__init__` alone, when it is first looked up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, eq: bool = True) -> Any:
    """Make of a class what `dataclass(frozen=True, eq=eq)` makes of it; its own methods stay. There
    is no `InitVar`, and what is wrong with a class may only be told at its first value."""
    return _define(cls, eq) if cls is not None else lambda cls: _define(cls, eq)


def _define(cls: Any, eq: bool) -> Any:
    _find_fields(cls)
    # Python writes `__hash__ = None` beside an `__eq__`, and `dataclass` puts its own there.
    is_unset = "__eq__" in cls.__dict__ and cls.__hash__ is None
    for name, member in _members(cls, eq).items():
        if name not in cls.__dict__ or (is_unset and name == "__hash__"):
            setattr(cls, name, member)
    return cls


def _find_fields(cls: Any) -> None:
    """Let `dataclass` find a class's fields: in a copy without bases, for which it need not ask
    whether they are frozen."""
    declared = inspect.get_annotations(cls)
    defaults = {name: getattr(cls, name) for name in declared if hasattr(cls, name)}
    documented = {"__doc__": cls.__doc__ or cls.__name__}  # else it works out a signature
    named = {"__module__": cls.__module__, "__annotations__": declared}
    copy: Any = type(cls.__name__, (), defaults | documented | named)
    dataclass(init=False, repr=False, eq=False)(copy)
    for name, default in defaults.items():
        if isinstance(default, Field):
            delattr(cls, name)
            if default.default is not MISSING:
                setattr(cls, name, default.default)
    known: dict[str, Any] = {}
    for kind in (*cls.__mro__[:0:-1], copy):
        known |= getattr(kind, "__dataclass_fields__", {})
    cls.__dataclass_fields__, cls.__dataclass_params__ = known, copy.__dataclass_params__
    cls.__dataclass_params__.frozen = True


def _members(cls: Any, eq: bool) -> dict[str, Any]:
    """What `dataclass` would write into a class."""
    known = fields(cls)
    shown = [field.name for field in known if field.repr]
    compared = _reader([one.name for one in known if one.compare])
    hashed = _reader([one.name for one in known if (one.compare if one.hash is None else one.hash)])

    @recursive_repr()
    def show(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({values})"

    def assign(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    def equal(self: Any, other: object) -> Any:
        is_same = other.__class__ is self.__class__
        return compared(self) == compared(other) if is_same else NotImplemented

    def hash_fields(self: Any) -> int:
        return hash(hashed(self))

    positional = tuple(field.name for field in known if field.init and not field.kw_only)
    members = {"__init__": _Init(cls), "__match_args__": positional, "__repr__": show}
    members |= {"__setattr__": assign, "__delattr__": delete}
    return members | ({"__eq__": equal, "__hash__": hash_fields} if eq else {})


def _reader(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads attributes of these names as a tuple."""
    if len(names) == 1:  # of which `attrgetter` makes no tuple
        read = attrgetter(*names)
        return lambda value: (read(value),)
    return attrgetter(*names) if names else lambda value: ()


class _Init:
    """The `__init__` of a class, which compiles the real one when it is first looked up."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, value: Any, kind: Any) -> Any:
        self._cls.__init__ = init = _compile_init(self._cls)
        return init.__get__(value, kind)


def _compile_init(cls: Any) -> Any:
    names: dict[str, Any] = {"__set": object.__setattr__, "__unset": MISSING}
    names["__name__"] = cls.__module__
    positional, named, body = ["self"], list[str](), ["pass"]
    for one in fields(cls):
        name, default, value = one.name, "", one.name
        if one.default is not MISSING:
            names[f"__default_{name}"], default = one.default, f" = __default_{name}"
        if one.default_factory is not MISSING:
            names[f"__default_{name}"], default = one.default_factory, " = __unset"
            value = f"__default_{name}()"
            if one.init:
                value += f" if {name} is __unset else {name}"
        if one.init:
            (named if one.kw_only else positional).append(name + default)
        if one.init or one.default_factory is not MISSING:
            body.append(f"__set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    head = ", ".join([*positional, *(["*"] if named else []), *named])
    exec(f"def __init__({head}):\n " + "\n ".join(body), names)
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {one.name: one.type for one in fields(cls) if one.init}
    return init
