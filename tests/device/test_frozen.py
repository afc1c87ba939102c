"""`frozen` makes of every class what `dataclasses.dataclass(frozen=True)` makes of it."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import ldpsql_device
from ldpsql_device.frozen import frozen

ROOMS = ("ldpsql_device", "ldpsql")


def standard(cls: Any = None, /, *, eq: bool = True) -> Any:
    return dataclass(frozen=True, eq=eq) if cls is None else dataclass(frozen=True)(cls)


def make_classes(mark: Any) -> SimpleNamespace:
    """Classes of every kind, marked by one of the two decorators."""

    @mark
    class Empty:
        pass

    @mark
    class One:
        x: int

    @mark
    class Base:
        """Everything a field can be."""

        kinds: ClassVar[int] = 3
        x: Any
        y: Any = 2
        _unset: Any = 5
        values: list[int] = field(default_factory=list)
        hidden: Any = field(default=7, repr=False)
        apart: Any = field(default=8, compare=False)
        named: Any = field(default=9, kw_only=True)
        size: int = field(init=False, repr=False, compare=False)
        made: list[int] = field(init=False, default_factory=list, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.values))

        @cached_property
        def double(self) -> Any:
            return self.x * 2

    @mark
    class Heir(Base):
        y: Any = 20
        z: Any = 30

        def __post_init__(self) -> None:
            super().__post_init__()
            object.__setattr__(self, "size", self.size + 100)

    @mark(eq=False)
    class ById(One):
        w: Any = 1

    @mark(eq=False)
    class OnlyById:
        w: Any = 1

    @mark
    class Hashed:
        x: Any
        unhashed: Any = field(default_factory=dict, hash=False)
        alone: Any = field(default=3, compare=False, hash=True)

    @mark
    class Own:  # noqa: PLW1641
        x: Any

        def __init__(self, x: Any) -> None:
            object.__setattr__(self, "x", -x)

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

    @mark
    class NeverHashed:
        x: Any
        __hash__ = None  # type: ignore[assignment]

    class Loose(One):
        pass

    class Plain:
        set: Any = 4

    @mark
    class Given(Plain):
        set: Any
        unset: Any = 5
        default_set: list[int] = field(default_factory=list)

    return SimpleNamespace(**{k: v for k, v in locals().items() if isinstance(v, type)})


BOTH = [make_classes(frozen), make_classes(standard)]


def outcome(act: Callable[[], object]) -> object:
    """What an act returns, or which error it raises."""
    try:
        return act()
    except Exception as error:
        return type(error).__name__, str(error)


ACTS: dict[str, Callable[[SimpleNamespace], object]] = {
    "none": lambda c: (c.Empty(), hash(c.Empty()) == hash(c.Empty()), c.Empty() == c.Empty()),
    "all given": lambda c: c.Base(1, 2, 3, [4], 5, 6, named=7),
    "defaults": lambda c: [getattr(c.Base(1), f.name) for f in fields(c.Base)],
    "heir": lambda c: (
        c.Heir(1),
        c.Heir(1).size,
        c.Heir(1, values=[1]).size,
        c.Heir.__match_args__,
    ),
    "default of a base": lambda c: (c.Given(), c.Given(1, 2, [3]), c.Given.unset),
    "own factory": lambda c: c.Base(1).values is c.Base(1).values,
    "too few": lambda c: c.Base(),
    "too many": lambda c: c.One(1, 2),
    "unknown": lambda c: c.One(1, q=2),
    "twice": lambda c: c.One(1, x=2),
    "not by name": lambda c: c.Base(1, 2, 3, [4], 5, 6, 7),
    "assign": lambda c: setattr(c.One(1), "x", 2),
    "assign other": lambda c: setattr(c.One(1), "other", 2),
    "assign loose": lambda c: setattr(c.Loose(1), "other", 2),
    "assign loose field": lambda c: setattr(c.Loose(1), "x", 2),
    "delete": lambda c: delattr(c.One(1), "x"),
    "delete loose": lambda c: delattr(c.Loose(1), "other"),
    "equal": lambda c: (c.Base(1) == c.Base(1), c.Base(1) == c.Base(2), c.Base(1) != c.Base(1)),
    "not compared": lambda c: c.Base(1, apart=1) == c.Base(1, apart=2),
    "hidden": lambda c: c.Base(1, hidden=1) == c.Base(1, hidden=2),
    "other class": lambda c: (c.One(1) == c.Loose(1), c.One(1) == 1, c.One(1) == c.ById(1)),
    "by inheritance": lambda c: c.ById(1, 2) == c.ById(1, 3),
    "by identity": lambda c: (c.OnlyById() == c.OnlyById(), len({c.OnlyById(), c.OnlyById()})),
    "identical parts": lambda c: (c.One(c) == c.One(c), c.One(NAN) == c.One(NAN)),
    "hashes": lambda c: {c.One(1): "a"}[c.One(1)],
    "hashed apart": lambda c: (
        [hash(c.Hashed(1)) == hash(other) for other in (c.Hashed(1, 2), c.Hashed(1, alone=4))],
        [c.Hashed(1) == other for other in (c.Hashed(1, 2), c.Hashed(1, alone=4))],
    ),
    "unhashable": lambda c: hash(c.Base(1)),
    "unhashable one": lambda c: hash(c.One([])),
    "never hashed": lambda c: (c.NeverHashed(1) == c.NeverHashed(1), hash(c.NeverHashed(1))),
    "own": lambda c: (c.Own(1).x, repr(c.Own(1)), c.Own(1) == c.Own(2), hash(c.Own(3))),
    "class attributes": lambda c: (c.Base.y, c.Base.hidden, c.Base.kinds, hasattr(c.Base, "size")),
    "no value of a class": lambda c: c.Base.values,
    "replace": lambda c: replace(c.Heir(1), z=4),
    "replace other": lambda c: replace(c.Heir(1), q=4),
    "replace derived": lambda c: replace(c.Heir(1), size=4),
    "as a dictionary": lambda c: asdict(c.Heir(1)),
    "is one": lambda c: (is_dataclass(c.Loose), is_dataclass(c.Empty())),
    "copies": lambda c: (copy.copy(c.Heir(1)), copy.deepcopy(c.Heir(1))),
    "cached": lambda c: c.Base(3).double,
    "parameters": lambda c: [
        (p.name, p.kind) for p in inspect.signature(c.Base).parameters.values()
    ],
    "annotations": lambda c: sorted(inspect.get_annotations(c.Heir.__init__).keys() - {"return"}),
    "an heir in dataclasses": lambda c: dataclass(frozen=True)(derive(c.Heir))(1, extra=2),
    "an heir of dataclasses": lambda c: frozen(derive(c.Heir))(1, extra=2),
    "an heir that thaws": lambda c: dataclass(derive(c.Heir)),
    "itself": lambda c: repr(knot(c.Base([]))),
    "matches": lambda c: match(c.Base(1, 4)),
    "parts": lambda c: repr(c.One),
}
NAN = float("nan")


def derive(base: type) -> type:
    return type("Derived", (base,), {"__annotations__": {"extra": "int"}, "extra": 1})


def knot(value: Any) -> Any:
    value.x.append(value)
    return value


def match(value: Any) -> object:
    kind = type(value)
    match value:
        case kind(1, y):
            return y
    return None


@pytest.mark.parametrize("name", ACTS)
def test_a_class_does_what_dataclasses_would_have_it_do(name):
    ours, theirs = (outcome(lambda c=c: ACTS[name](c)) for c in BOTH)
    assert repr(ours) == repr(theirs)


@frozen
class Kept:
    x: int
    y: tuple[int, ...] = ()


def test_values_are_pickled_and_new_processes_know_their_methods():
    kept = Kept(1, (2,))
    assert pickle.loads(pickle.dumps(kept)) == kept


def test_a_value_that_was_never_initialised_is_frozen_too():
    class Fresh:
        x: int = 1

    fresh = object.__new__(frozen(Fresh))
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        fresh.x = 2


def test_threads_may_make_the_first_values_at_once():
    for _ in range(20):
        fresh = derive(object)
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(frozen(fresh), range(8)))
        assert [one.extra for one in made] == list(range(8))


def test_no_module_has_dataclasses_compile_frozen_classes():
    """But for the order of their values, which is rarely needed."""
    sources = Path(ldpsql_device.__file__).parents[1]
    slow = re.compile(r"@dataclass\([^)]*frozen=True(?![^)]*order=True)")
    for path in (path for room in ROOMS for path in (sources / room).rglob("*.py")):
        assert not slow.search(path.read_text()), f"{path}: use ldpsql_device.frozen"


DESCRIBE = """
import dataclasses, importlib, inspect, json, pkgutil, re, sys
import ldpsql_device, ldpsql_device.frozen as home
if sys.argv[1] == "dataclasses":
    home.frozen = lambda cls=None, /, eq=True: (
        dataclasses.dataclass(frozen=True, eq=eq) if cls is None
        else dataclasses.dataclass(frozen=True)(cls)
    )
import ldpsql
found = {}
def told(act):
    try:
        return re.sub(" at 0x[0-9a-f]+", "", repr(act()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
class Part:
    def __init__(self, name): self.name = name
    def __repr__(self): return self.name
def describe(cls):
    known = dataclasses.fields(cls)
    def fill(last=""):
        value = cls.__new__(cls)
        parts = {one.name: Part(one.name) for one in known}
        if last: parts |= {last: Part("other")}
        return value, parts
    def make(parts, value):
        for name, part in parts.items(): object.__setattr__(value, name, part)
        return value
    def equal():
        value, parts = fill()
        same = make(parts, cls.__new__(cls))
        make(parts, value)
        others = [make(parts | {one.name: Part("other")}, cls.__new__(cls)) for one in known]
        return (
            value == same, hash(value) == hash(same),
            [(value == other, hash(value) == hash(other)) for other in others])
    def change():
        value, parts = fill()
        make(parts, value)
        return [told(lambda: setattr(value, name, 1)) for name in [*parts, "unknown"]] + [
            told(lambda: delattr(value, name)) for name in [*parts, "unknown"]]
    signature = inspect.signature(cls.__init__)
    return {
        "fields": [
            [one.name, str(one.type), told(lambda: one.default), told(lambda: one.default_factory),
             one.init, one.repr, one.compare, one.hash, one.kw_only] for one in known],
        "attributes": [told(lambda: getattr(cls, one.name)) for one in known],
        "init": [[p.name, str(p.kind), p.default is p.empty, str(p.annotation)]
                 for p in signature.parameters.values()],
        "written": sorted(set(cls.__dict__) & {"__init__", "__repr__", "__eq__", "__hash__",
            "__setattr__", "__delattr__", "__match_args__"}),
        "match": list(getattr(cls, "__match_args__", ())),
        "frozen": cls.__dataclass_params__.frozen,
        "hashable": cls.__hash__ is not None,
        "shown": told(lambda: make(fill()[1], cls.__new__(cls))),
        "equal": told(equal),
        "change": told(change),
        "called": [told(lambda: cls(*range(n)) and None) for n in (0, len(known) + 1)],
    }
for package in (ldpsql_device, ldpsql):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError:  # of an extra
            continue
for name, module in sorted(sys.modules.items()):
    if name.split(".")[0] in ("ldpsql_device", "ldpsql"):
        for cls in vars(module).values():
            if isinstance(cls, type) and cls.__module__ == name and dataclasses.is_dataclass(cls):
                found[f"{name}.{cls.__qualname__}"] = describe(cls)
json.dump(found, sys.stdout, default=str)
"""


@pytest.mark.slow
def test_every_class_of_ours_is_what_dataclasses_would_make_of_it():
    """Two processes import all of `src`, one with `frozen`, the other with `dataclasses`."""
    ours, theirs = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", DESCRIBE, of], capture_output=True, text=True, check=True
            ).stdout
        )
        for of in ("frozen", "dataclasses")
    )
    assert ours.keys() == theirs.keys()
    assert len([one for one in ours.values() if one["frozen"]]) > 300
    for name, one in ours.items():
        assert one == theirs[name], name
