"""Runs at the collector. Sees reports. The places where reports are kept."""
