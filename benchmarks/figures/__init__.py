"""Figures of the papers, drawn again: `python -m benchmarks.figures`, or `make figures`.

To add a figure, add one module to this folder; it is found by itself. It ends with

    FIGURES = (
        Figure(
            name="shuffle-figure-2",             # files: <name>.csv .png .svg .json
            source="Paper 2023, Figure 2",
            measure=measure,
            draw=draw,
            judge=judge,
            quick={"people": 20_000, "runs": 3},
            full={"people": 1_000_000, "runs": 100},
        ),
    )

* `measure(cases, **parameters)` gives a `Measured`: rows (dictionaries of numbers and strings,
  all with the same keys; they become the CSV) and one line that says which data were used. Data
  come from `data.people(...)`, which takes the real table where there is one (LDPSQL_DATA, or
  ../shared/data) and a generated stand-in where there is none, and says which.
  Work that takes long goes through `cases.rows(key, work)`: finished cases are kept, and a run
  that was stopped goes on where it was. The key holds every parameter of the case.
  `Skipped("why")` may be raised.
* `draw(measured)` gives a matplotlib figure (or several: {"-counts": ..., "-sums": ...}, by what
  is put after the name of their files), nearly always
  `plots.draw_figure(title, panels, note=measured.data)` of `Panel`s of `Curve`s
  (ldpsql.terminal.figures: look, legend outside the data, bands, log axes).
* `judge(measured)` gives a `Verdict` for each claim of the paper: the claim in a sentence, whether
  it holds (True, False, or None where it is undecided: `verdicts` has the tests), and the
  numbers that say so. It sees the rows alone, which are kept in `benchmarks/stored`, and must
  compare measured values by their standard errors.

`papers` lists what the papers have, and `pages` writes docs/papers from what is stored.
`python -m benchmarks.figures NAME` draws one figure, `--full` with all the paper's parameters,
`--list` says which there are.
"""

from benchmarks.figures.cases import Cases
from benchmarks.figures.figure import Figure, Measured, Row, Skipped, Verdict

__all__ = ["Cases", "Figure", "Measured", "Row", "Skipped", "Verdict"]
