"""Runs wherever people read. Numbers with error bars, and promises, in words."""
