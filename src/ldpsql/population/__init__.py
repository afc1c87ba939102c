"""Answers about a population: by its margins, of a census, and of several surveys at once."""
