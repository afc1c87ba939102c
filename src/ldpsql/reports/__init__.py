"""Runs at the designer and the collector. Survey files, reports, and signs of forgery."""
