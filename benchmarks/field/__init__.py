"""This project and published mechanisms in one table, on common work: `python -m benchmarks.field`.

Peers are written anew from their papers and their authors' programs. `ranges`, `many_values` and
`means` measure errors and costs, `risks` what attackers get; `questions` takes every mechanism
apart into what a person is asked. docs/field.md is made from the stored results, and says what
could not be had.
"""
