"""What lies beside the file of a store."""

from __future__ import annotations

from pathlib import Path

BESIDE = (".snapshot",)


def files_in(folder: Path, pattern: str = "*") -> list[str]:
    """The names of all files in a folder but for those that belong beside a store in it, sorted."""
    names = {path.name for path in folder.glob(pattern)}
    return sorted(
        name
        for name in names
        if not any(name.endswith(end) and name.removesuffix(end) in names for end in BESIDE)
    )
