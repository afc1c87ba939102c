"""Runs at the collector. The estimators that several mechanisms share."""
