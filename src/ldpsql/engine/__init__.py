"""Runs at the collector. Sees reports. Rewrites questions, counts reports, answers."""
