"""Run the measurements, print Markdown: `python -m benchmarks [PART ...]`, all by default."""

from __future__ import annotations

import sys

from benchmarks import (
    averages,
    cold,
    coverage,
    crowd_papers,
    crowds,
    deadline,
    decoded,
    events,
    everyday,
    fairness,
    forgery,
    fourier_accuracy,
    fourier_bounds,
    fourier_coverage,
    fourier_speed,
    function_coverage,
    h4mda,
    known_others,
    log_scales,
    missing,
    product_form,
    random_surveys,
    real_data,
    response,
    scale,
    serving,
    shuffler,
    smooth_peers,
    smooth_real,
    smoothing,
    spark,
    speed,
    statistics,
    telemetry,
    uldp,
    verdicts,
    year,
)
from benchmarks.tables import machine

PARTS = {
    "averages": averages.run,
    "missing": missing.run,
    "speed": speed.run,
    "cold": cold.run,
    "coverage": coverage.run,
    "crowds": crowds.run,
    "crowd-papers": crowd_papers.run,
    "statistics": statistics.run,
    "random-surveys": random_surveys.run,
    "real": real_data.run,
    "fourier-bounds": fourier_bounds.run,
    "fourier-accuracy": fourier_accuracy.run,
    "fourier-coverage": fourier_coverage.run,
    "fourier-speed": fourier_speed.run,
    "product-form": product_form.run,
    "decoded": decoded.run,
    "everyday": everyday.run,
    "events": events.run,
    "function-coverage": function_coverage.run,
    "log-scales": log_scales.run,
    "year": year.run,
    "telemetry": telemetry.run,
    "forgery": forgery.run,
    "smoothing": smoothing.run,
    "smooth-peers": smooth_peers.run,
    "smooth-real": smooth_real.run,
    "h4mda": h4mda.run,
    "uldp": uldp.run,
    "verdicts": verdicts.run,
    "response": response.run,
    "scale": scale.run,
    "serving": serving.run,
    "deadline": deadline.run,
    "fairness": fairness.run,
    "shuffler": shuffler.run,
    "known-others": known_others.run,
    "spark": spark.run,  # last, because it needs an extra
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
