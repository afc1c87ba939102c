"""Draw figures: `python -m benchmarks.figures [NAME ...] [--full] [-o FOLDER] [--list]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    names = asked.names or list(figures)
    changed = dict(map(_pair, asked.set))
    for name in names:
        for key in changed:
            if key not in figures[name].full:
                sys.exit(f"{name} has no parameter {key}; it has {', '.join(figures[name].full)}")
    if asked.full:
        tell_time([figures[name] for name in names], asked.folder, changed)
    for name in names:
        started, worked = time.perf_counter(), time.process_time()
        try:
            verdicts = figures[name].run(asked.folder, full=asked.full, **changed)
        except Skipped as reason:
            print(f"{name}: skipped, {reason}", flush=True)
            continue
        seconds, busy = time.perf_counter() - started, time.process_time() - worked
        told = json.loads((asked.folder / f"{name}.json").read_text())
        pictures = ", ".join(f"{picture}.png" for picture in told["pictures"])
        print(f"{name} ({seconds:.0f} s, {busy:.0f} s of CPU): {asked.folder}: {pictures}")
        for verdict in verdicts:
            print(f"  {verdict}", flush=True)


def tell_time(figures: Sequence[Figure], folder: Path, changed: Mapping[str, Any]) -> None:
    """Say on stderr how many cases there are, and about how long those that are not kept take."""
    known, unknown = 0.0, []
    for figure in figures:
        try:
            listing = figure.list_cases(folder, full=True, **changed)
        except Skipped:
            continue
        if not listing.missing and not listing.kept:
            continue  # what has no cases takes seconds
        seconds = listing.seconds()
        if seconds is None:
            unknown.append(figure.name)
        known += seconds or 0.0
        about = "time unknown" if seconds is None else f"about {_hours(seconds)}"
        todo, kept = len(listing.missing), listing.kept
        print(f"{figure.name}: {todo} cases to measure, {kept} kept; {about}", file=sys.stderr)
    rest = f", and what {', '.join(unknown)} take (draw them quickly once)" if unknown else ""
    print(
        f"In all about {_hours(known)} of one processor{rest}, as if time grew with people and "
        "runs; finished cases make it truer. A run that is stopped goes on where it was.",
        file=sys.stderr,
        flush=True,
    )


def _hours(seconds: float) -> str:
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _pair(text: str) -> tuple[str, Any]:
    """KEY=JSON, or the end of the run."""
    key, _, value = text.partition("=")
    try:
        return key, json.loads(value)
    except ValueError:
        sys.exit(f"--set takes KEY=JSON (strings in quotation marks), not {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
