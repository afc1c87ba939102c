"""Public. Sees parameters. The type objects of PEP 249: families of Arrow types."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class TypeObject:
    """A family of column types; equal to the type code of every column of the family."""

    name: str
    codes: frozenset[str]

    def __eq__(self, other: object) -> bool:
        """Whether a type code is of this family."""
        return other is self or other in self.codes

    def __hash__(self) -> int:
        return hash(self.name)


STRING = TypeObject("STRING", frozenset({"string", "large_string", "string_view"}))
BINARY = TypeObject("BINARY", frozenset({"binary", "large_binary"}))
NUMBER = TypeObject(
    "NUMBER",
    frozenset(
        {"bool", "float", "double"}
        | {f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)}
    ),
)
DATETIME = TypeObject(
    "DATETIME",
    frozenset(
        {"date32[day]", "date64[ms]", "time32[s]", "time32[ms]", "time64[us]", "time64[ns]"}
        | {f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns")}
    ),
)
ROWID = TypeObject("ROWID", frozenset())
