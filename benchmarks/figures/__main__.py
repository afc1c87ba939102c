"""Draw figures: `python -m benchmarks.figures [NAME ...] [--full] [-o FOLDER] [--list]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

import benchmarks.figures
from benchmarks.figures.figure import Figure, Skipped


def every() -> dict[str, Figure]:
    """All figures of this package's modules, by name."""
    found: dict[str, Figure] = {}
    for module in pkgutil.iter_modules(benchmarks.figures.__path__, "benchmarks.figures."):
        if module.name.endswith("__main__"):
            continue
        for figure in getattr(importlib.import_module(module.name), "FIGURES", ()):
            if figure.name in found:
                raise ValueError(f"two figures are called {figure.name}")
            found[figure.name] = figure
    return found


def main(arguments: list[str]) -> None:
    figures = every()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all by default")
    parser.add_argument("--full", action="store_true", help="with all of the papers' parameters")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="another value of a parameter",
    )
    parser.add_argument("-o", dest="folder", type=Path, default=Path("out/figures"))
    parser.add_argument("--list", action="store_true", help="say which figures there are")
    asked = parser.parse_args(arguments)
    if asked.list:
        for figure in figures.values():
            print(f"{figure.name:<28} {figure.source}")
        return
    unknown = set(asked.names) - set(figures)
    if unknown:
        sys.exit(f"no such figure: {min(unknown)}; there are {', '.join(figures)}")
    pairs = [text.partition("=") for text in asked.set]
    changed = {key: json.loads(value) for key, _, value in pairs}
    for name in asked.names or figures:
        started, worked = time.perf_counter(), time.process_time()
        try:
            verdicts = figures[name].run(asked.folder, full=asked.full, **changed)
        except Skipped as reason:
            print(f"{name}: skipped, {reason}", flush=True)
            continue
        seconds, busy = time.perf_counter() - started, time.process_time() - worked
        print(f"{name} ({seconds:.0f} s, {busy:.0f} s of CPU): {asked.folder / name}.png")
        for verdict in verdicts:
            print(f"  {verdict}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
