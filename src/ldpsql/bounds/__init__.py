"""Runs at the designer. The least error that any locally private survey can have."""
