"""Runs at the designer and the collector. Linear queries over a domain, and estimates."""
