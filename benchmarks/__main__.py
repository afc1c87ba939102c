"""Run the measurements, print Markdown.

`python -m benchmarks [speed|statistics|real|smoothing|h4mda]`
"""

from __future__ import annotations

import sys

from benchmarks import h4mda, real_data, smoothing, speed, statistics
from benchmarks.tables import machine

PARTS = {
    "speed": speed.run,
    "statistics": statistics.run,
    "real": real_data.run,
    "smoothing": smoothing.run,
    "h4mda": h4mda.run,
}


def main(names: list[str]) -> None:
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.exit(f"no such part: {min(unknown)}; there are {', '.join(PARTS)}")
    print(f"Measured on {machine()}.")
    for name in names or PARTS:
        print()
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
