"""The rooms of `src`: which imports which, on which floor each lies, and how large each may be.

`python -m tools.rooms` prints them, `--write` draws them into docs/architecture.md, and `--check`
fails where that drawing is out of date, where rooms import each other in a circle, or where one has
more lines than its ceiling in pyproject.toml (`[tool.ldpsql.ceilings]`). Ceilings only fall: one
above that of the commit before fails, too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC, PAGE = ROOT / "src", ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms -->\n```text\n", "```\n<!-- end of rooms -->"
FACADES = {"ldpsql", "ldpsql.__main__"}
"""Modules that only hand on names, or start the command line; nothing imports them."""


def read_modules() -> dict[str, Path]:
    """Every module of `src` by its dotted name."""
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    """The room of a module: its folder in `ldpsql`, itself if loose, or its distribution."""
    first, *rest = module.split(".")
    return f"{first}.{rest[0]}" if first == "ldpsql" and rest else first


def imported(path: Path, known: Iterable[str]) -> set[str]:
    """The modules of `src` that a file imports anywhere, for its types too."""
    names, modules = set[str](), set(known)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            each = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (each & modules) or ({node.module} & modules)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names} & modules
    return names


def draw_imports(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """Which rooms each room imports."""
    arrows: dict[str, set[str]] = {}
    for module, path in modules.items():
        if module in FACADES:
            continue
        own = arrows.setdefault(room_of(module), set())
        own |= {room_of(each) for each in imported(path, modules) if each not in FACADES}
        own.discard(room_of(module))
    return arrows


def find_floors(arrows: Mapping[str, set[str]]) -> dict[str, int]:
    """The floor of every room: one above the highest that it imports; CycleError for a circle."""
    floors: dict[str, int] = {}
    for room in TopologicalSorter(arrows).static_order():
        floors[room] = 1 + max((floors[each] for each in arrows.get(room, ())), default=0)
    return floors


def count_lines(modules: Mapping[str, Path]) -> dict[str, int]:
    """The lines of every room."""
    counts: dict[str, int] = {}
    for module, path in modules.items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        counts[room_of(module)] = counts.get(room_of(module), 0) + lines
    return counts


def draw(floors: Mapping[str, int]) -> str:
    """One line per floor, the highest first."""
    rows = []
    for floor in range(max(floors.values()), 0, -1):
        names = sorted(room.removeprefix("ldpsql.") for room in floors if floors[room] == floor)
        rows.append(f"{floor:>2}  {'  '.join(names)}\n")
    return "".join(rows)


def read_ceilings(text: str) -> dict[str, int]:
    """Ceilings by room, or by the groups of rooms that pyproject.toml names."""
    ceilings: dict[str, int] = tomllib.loads(text)["tool"].get("ldpsql", {}).get("ceilings", {})
    return ceilings


def find_faults(counts: Mapping[str, int]) -> list[str]:
    """What is above its ceiling, has none, or has a higher one than the commit before."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ceilings = read_ceilings(text)
    faults = [
        f"{room} has {lines:,} lines and may have {ceilings[room]:,}: take something out of it"
        for room, lines in counts.items()
        if lines > ceilings.get(room, sys.maxsize)
    ]
    faults += [f"{room} has no ceiling in pyproject.toml" for room in counts.keys() - ceilings]
    faults += [
        f"pyproject.toml has a ceiling for {room}, which is no room"
        for room in ceilings.keys() - counts.keys()
    ]
    before = subprocess.run(
        ["git", "show", "HEAD~1:pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if before.returncode == 0:
        earlier = read_ceilings(before.stdout)
        faults += [
            f"the ceiling of {room} rose from {earlier[room]:,} to {ceiling:,}; they only fall"
            for room, ceiling in ceilings.items()
            if ceiling > earlier.get(room, ceiling)
        ]
    return faults


def main() -> None:
    """Print, write or check."""
    modules = read_modules()
    counts, arrows = count_lines(modules), draw_imports(modules)
    try:
        floors = find_floors(arrows)
    except CycleError as error:
        sys.exit(f"rooms import each other in a circle: {' -> '.join(error.args[1])}")
    drawing = draw(floors)
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    drawn = f"{head}{BEGIN}{drawing}{END}{tail}"
    if "--write" in sys.argv:
        PAGE.write_text(drawn, encoding="utf-8")
    elif "--check" in sys.argv:
        faults = find_faults(counts)
        if drawn != page:
            faults.append("docs/architecture.md is out of date: run python -m tools.rooms --write")
        sys.exit("\n".join(faults) or 0)
    else:
        for room in sorted(floors, key=lambda each: (-floors[each], each)):
            sys.stdout.write(f"{floors[room]:>2} {counts[room]:>6} {room}\n")


if __name__ == "__main__":
    main()
