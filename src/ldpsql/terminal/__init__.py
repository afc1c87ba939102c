"""Runs at the analyst. Text tables, options, formats and progress that all commands share."""
