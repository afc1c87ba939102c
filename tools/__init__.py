"""Runs at the maintainer. Writes and checks generated pages of the documentation."""
