"""Runs at the designer and the collector. Mechanisms: a recipe and a decoder each, side by side."""
