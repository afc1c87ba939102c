"""The papers: their figures, tables and numbered claims, and what became of each here.

An entry names the figure of this package that measures it, or says by words and evidence what is
known without one. What is not listed is not covered; what could not be done says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["measured", "reproduced", "refuted", "not reproducible", "not done"]


@dataclass(frozen=True)
class Entry:
    """A figure, table or claim.

    number: as the paper numbers it.  figure: of this package, or nothing.  note: what differs from
    the paper, or the evidence.
    """

    number: str
    what: str
    state: State
    note: str = ""
    figure: str = ""

    def __post_init__(self) -> None:
        if (self.state == "measured") != bool(self.figure):
            raise ValueError(f"{self.number}: what is measured names its figure, and nothing else")


@dataclass(frozen=True)
class Paper:
    """One page. slug: its file's name.  reference: where it appeared.  spec: the specification."""

    slug: str
    title: str
    reference: str
    spec: str
    entries: Sequence[Entry]

    @property
    def figures(self) -> list[str]:
        """The figures of this package that its entries name, each once."""
        return list(dict.fromkeys(entry.figure for entry in self.entries if entry.figure))


H4MDA = Paper(
    "h4mda",
    "H4MDA",
    "Sci. Sin. Inform. 53, 2023, 1111-1131",
    "h4mda",
    (
        Entry(
            "Figures 1 to 4",
            "trees and queries of the running example",
            "reproduced",
            "[the running example](running-example.md), whose numbers a test checks",
        ),
        Entry("Figure 5", "errors on SYN", "measured", "20,000 people", "h4mda-figure-5"),
        Entry("Figure 6", "errors on Adult", "measured", "all 45,222 people", "h4mda-figure-6"),
        Entry(
            "Figure 7",
            "errors on IPUMS",
            "measured",
            "ACS 2018 stands for IPUMS, which is not free to pass on; 20,000 people",
            "h4mda-figure-7",
        ),
        Entry(
            "section 5, text",
            "Figures 6 and 7 side by side, and narrow windows at epsilon 5",
            "measured",
            "ACS 2018 stands for IPUMS; 200,000 of its people",
            "h4mda-tables",
        ),
        Entry(
            "Figure 6",
            "three predicates over three attributes",
            "measured",
            "schooling, hours and age of Adult at m = 25; only of this table",
            "h4mda-three",
        ),
        Entry(
            "Table 2",
            "numbers of levels, and ratios of errors",
            "refuted",
            "its ratios inherit [errata 6, 9 and 26](../spec/h4mda.md#11)",
        ),
        Entry(
            "Table 3",
            "data sets",
            "not reproducible",
            "titled six, lists three ([erratum 28](../spec/h4mda.md#11)); SYN has no stated mean, "
            "deviation or correlation",
        ),
        Entry(
            "HGRR",
            "epsilon-LDP",
            "reproduced",
            "exact enumeration of what devices draw, for all small designs: `ldpsql audit`",
        ),
        Entry(
            "Theorems 6, 11",
            "LGRR-FD and LGRR are epsilon-LDP",
            "refuted",
            "infinite odds by enumeration ([errata 1 to 3](../spec/h4mda.md#11))",
        ),
        Entry(
            "Theorems 7, 12",
            "their estimators are unbiased",
            "refuted",
            "expectation f + L (f - 1/K)/(e - 1) ([erratum 4](../spec/h4mda.md#11))",
        ),
        Entry(
            "Theorems 4, 5, 8, 9, 13, 14",
            "variances",
            "refuted",
            "[errata 6 to 13](../spec/h4mda.md#11); the exact variance is in "
            "[1.8](../spec/h4mda.md#1.8)",
        ),
    ),
)

ULDP = Paper(
    "uldp",
    "Utility-optimised joint distributions",
    "Yin, Zhu, Zhang, Computer Science 50(10), 2023, 315-326",
    "uldp",
    (
        Entry(
            "Figure 3",
            "nursery 3 x 5 and 4 x 5, scores 5 x 3 and 6 x 3",
            "measured",
            "which attributes the paper takes is not said for all panels",
            "uldp-figure-3",
        ),
        Entry("Figure 4", "four sensitive classes of nursery", "measured", "", "uldp-figure-4"),
        Entry("Figure 5", "four sensitive values of scores", "measured", "", "uldp-figure-5"),
        Entry(
            "Figure 6",
            "2,000, 5,000 and 10,000 people, nursery 5 x 5",
            "measured",
            "has_nurs x class; errors of the table's shares",
            "uldp-figure-6",
        ),
        Entry(
            "Figure 7",
            "running time",
            "measured",
            "CPU seconds of this project's code, not of the paper's machine",
            "uldp-figure-7",
        ),
        Entry(
            "equations",
            "channels, estimators and variances of JuRR, CPRR, TDRR, JD_GRR",
            "reproduced",
            "with the errata of [the specification](../spec/uldp.md), by exact channels",
        ),
    ),
)

SHUFFLE = Paper(
    "shuffle",
    "Marginals in the shuffle model",
    "Liu, Wang, Wang, J. Software 33(3), 2022",
    "shuffle",
    (
        Entry(
            "Figure 4",
            "errors of one-attribute counts: binary (a, b) and categorical (c, d)",
            "measured",
            "Kosarak's 36,682 first people and Bank Marketing; three of nine epsilons; SUE-MS and "
            "SOLH only with --full",
            "shuffle-figure-4",
        ),
        Entry(
            "Figure 5",
            "marginals of three attributes: CALM with each mechanism, and FT",
            "measured",
            "Kosarak's 36,682 first people, two of nine epsilons; CALM's marginals hold every pair",
            "shuffle-figure-5",
        ),
        Entry(
            "Figure 6",
            "three models trained on synthetic tables",
            "measured",
            "ACS 2018 with seven attributes; the paper's SGD beside scikit-learn's",
            "shuffle-figure-6",
        ),
        Entry(
            "Table 2",
            "percentages of SRR, ARR and PSRR at epsilon 0.2",
            "refuted",
            "with the stated delta no local budget exists there for SRR and ARR: "
            "[erratum S3](../spec/shuffle.md)",
        ),
        Entry("Table 3", "percentages of SRR, ARR and PSRR", "not done"),
        Entry(
            "Table 4",
            "bits of a report",
            "refuted",
            "not those of its Table 1: [erratum S7](../spec/shuffle.md); `ldpsql design` prints "
            "the bits of every survey",
        ),
        Entry(
            "SUE-MS",
            "as published",
            "not reproducible",
            "its published budget is no bound, so a survey with it is refused with the reason",
        ),
        Entry(
            "section 3",
            "amplification by shuffling",
            "reproduced",
            "corrected, and never below the exact worst case: [specification](../spec/shuffle.md)",
        ),
    ),
)

RESPONSE = Paper(
    "optimal-response",
    "Optimal randomized response",
    "Zhou, Lu, Wu, J. Communications 2019",
    "rr-optimum",
    (
        Entry(
            "Figures 1, 5",
            "feasible regions of two values",
            "measured",
            "exact corners",
            "response-1-binary-region",
        ),
        Entry(
            "sections 2.1 to 2.3",
            "the optimum for two values under epsilon-DP, over epsilon",
            "measured",
            "",
            "response-2-binary-epsilon",
        ),
        Entry("sections 2.1 to 2.3", "over the prior", "measured", "", "response-3-binary-prior"),
        Entry(
            "section 3",
            "two values under (epsilon, delta)-DP, over delta",
            "measured",
            "",
            "response-4-binary-delta",
        ),
        Entry("section 3", "what delta buys", "measured", "", "response-5-binary-cost"),
        Entry("Figures 4, 8", "simulated surfaces", "not done"),
        Entry("section 4", "many values, over epsilon", "measured", "", "response-6-nary-epsilon"),
        Entry("section 4", "over the prior's skew", "measured", "", "response-7-nary-skew"),
        Entry("section 4", "over delta", "measured", "", "response-8-nary-delta"),
    ),
)

PAPERS = (H4MDA, ULDP, SHUFFLE, RESPONSE)
