"""This project and published mechanisms in one table, on common work: `python -m benchmarks.field`.

The other mechanisms are reimplemented from their papers and their authors' programs. `ranges`,
`many_values` and `means` measure errors and costs, and `risks` measures what attackers learn;
`questions` breaks every mechanism down into the questions that a person is asked. docs/field.md is
made from the stored results, and says what is missing.
"""
