"""Runs at the analyst. The Python database API (PEP 249), and answers as notebooks show them."""
