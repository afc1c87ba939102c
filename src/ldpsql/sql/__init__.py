"""Runs at the collector. SQL text and values: quoting, domains, look-up tables, aggregates."""
