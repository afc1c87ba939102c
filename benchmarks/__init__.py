"""Measurements behind the numbers in docs/benchmarks.md; `python -m benchmarks` runs them all."""
