"""The papers: their figures, tables and numbered claims, and what became of each here.

An entry names the figure of this package that measures it, or says by words and evidence what is
known without one. `contents` lists what there must be entries of; what could not be done says so.
`PARAMETERS` puts what was measured beside what the papers did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal[
    "measured", "reproduced", "refuted", "not reproducible", "not done", "not known here"
]
UNKNOWN = "not known here"


@dataclass(frozen=True)
class Entry:
    """A figure, table or claim, or several.

    covers: its numbers, as `contents` has them.  number: as a reader finds it.  figure: of this
    package, or nothing.  note: what differs from the paper, or the evidence.  shown_by: a test,
    as file::function.
    """

    number: str
    what: str
    state: State
    note: str = ""
    figure: str = ""
    covers: tuple[str, ...] = ()
    shown_by: str = ""

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


def _of(kind: str, *numbers: int) -> tuple[str, ...]:
    return tuple(f"{kind} {number}" for number in numbers)


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
            "[the running example](running-example.md)",
            covers=_of("Figure", 1, 2, 3, 4),
            shown_by="tests/demo/test_paper.py::test_the_queries_have_the_papers_answers",
        ),
        Entry(
            "Figure 5",
            "errors on SYN",
            "measured",
            "fewer people; the distribution of SYN is not stated",
            "h4mda-figure-5",
            covers=_of("Figure", 5),
        ),
        Entry(
            "Figure 6",
            "errors on Adult",
            "measured",
            "the same people",
            "h4mda-figure-6",
            covers=_of("Figure", 6),
        ),
        Entry(
            "Figure 7",
            "errors on IPUMS",
            "measured",
            "ACS 2018 stands for IPUMS, which is not free to pass on; fewer people",
            "h4mda-figure-7",
            covers=_of("Figure", 7),
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
            "schooling, hours and age of Adult at m = 25; of this table only",
            "h4mda-three",
        ),
        Entry("Table 1", "", UNKNOWN, covers=_of("Table", 1)),
        Entry(
            "Table 2",
            "numbers of levels",
            "measured",
            "its ratios of errors inherit [errata 6, 9 and 26](../spec/h4mda.md#11): see the "
            "verdicts of Figures 5 to 7",
            "h4mda-levels",
            covers=_of("Table", 2),
        ),
        Entry(
            "Table 3",
            "data sets",
            "not reproducible",
            "announces six and lists three ([erratum 28](../spec/h4mda.md#11)); SYN has no stated "
            "mean, deviation or correlation",
            covers=_of("Table", 3),
        ),
        Entry(
            "Algorithm 1",
            "collection and estimation by HIO",
            "reproduced",
            "with [errata 10 and 27](../spec/h4mda.md#11): estimates use the actual sizes "
            "of groups, and reports are stored instead of records",
            covers=_of("Algorithm", 1),
            shown_by="tests/recipes/test_contract.py"
            "::test_channel_is_exactly_private_and_spends_its_budget",
        ),
        Entry(
            "Algorithms 2 to 4",
            "HGRR, LGRR-FD, LGRR",
            "reproduced",
            "with [errata 14, 15 and 17](../spec/h4mda.md#11); the last two promise nothing",
            covers=_of("Algorithm", 2, 3, 4),
            shown_by="tests/recipes/test_lgrr.py::test_expectations_of_the_specification",
        ),
        Entry("Theorems 1, 2, 10", "", UNKNOWN, covers=_of("Theorem", 1, 2, 10)),
        Entry(
            "Theorem 3",
            "variance of one node",
            "refuted",
            "stated as an equality without the terms that depend on the data "
            "([erratum 13](../spec/h4mda.md#11))",
            covers=_of("Theorem", 3),
            shown_by="tests/recipes/test_h4mda_vectors.py::test_variance_of_one_node",
        ),
        Entry(
            "Theorems 4, 5",
            "variances of COUNT and SUM by HGRR",
            "refuted",
            "[errata 9, 11 and 12](../spec/h4mda.md#11); the exact variance is in "
            "[1.8](../spec/h4mda.md#1.8)",
            covers=_of("Theorem", 4, 5),
            shown_by="tests/recipes/test_h4mda_vectors.py::test_variance_of_one_node",
        ),
        Entry(
            "Theorems 6, 11, and HGRR",
            "LGRR-FD, LGRR and HGRR are epsilon-LDP",
            "measured",
            "exact channels ([errata 1 to 3](../spec/h4mda.md#11))",
            "h4mda-promises",
            covers=_of("Theorem", 6, 11),
        ),
        Entry(
            "Theorems 7, 12",
            "their estimators are unbiased",
            "measured",
            "expectation f + L (f - 1/K)/(e - 1) ([erratum 4](../spec/h4mda.md#11))",
            "h4mda-bias",
            covers=_of("Theorem", 7, 12),
        ),
        Entry(
            "Theorems 8, 9, 13, 14",
            "variances of LGRR-FD and LGRR",
            "refuted",
            "[errata 5 to 9](../spec/h4mda.md#11): 3.6 and 6.7 times too small in the "
            "specification's case",
            covers=_of("Theorem", 8, 9, 13, 14),
            shown_by="tests/recipes/test_lgrr.py"
            "::test_the_published_estimator_is_biased_as_predicted",
        ),
    ),
)

ULDP = Paper(
    "uldp",
    "Utility-optimised joint distributions",
    "Yin, Zhu, Zhang, Computer Science 50(10), 2023, 315-326",
    "uldp",
    (
        Entry("Figures 1, 2", "", UNKNOWN, covers=_of("Figure", 1, 2)),
        Entry(
            "Figure 3",
            "nursery 3 x 5 and 4 x 5, scores 5 x 3 and 6 x 3",
            "measured",
            "which attributes the paper takes is not known for every panel",
            "uldp-figure-3",
            covers=_of("Figure", 3),
        ),
        Entry(
            "Figure 4",
            "four sensitive classes of nursery",
            "measured",
            "the order of the classes is our choice",
            "uldp-figure-4",
            covers=_of("Figure", 4),
        ),
        Entry(
            "Figure 5",
            "four sensitive values of scores",
            "measured",
            "that grades are thirds of the sum of marks is our choice",
            "uldp-figure-5",
            covers=_of("Figure", 5),
        ),
        Entry(
            "Figure 6",
            "2,000, 5,000 and 10,000 people, nursery 5 x 5",
            "measured",
            "has_nurs x class; errors of the table's shares",
            "uldp-figure-6",
            covers=_of("Figure", 6),
        ),
        Entry(
            "Figure 7",
            "running time",
            "measured",
            "CPU seconds of this project's code, on another machine than the paper's",
            "uldp-figure-7",
            covers=_of("Figure", 7),
        ),
        Entry(
            "Definitions 1, 2",
            "utility-optimised LDP",
            "reproduced",
            "Definition 1 for one attribute; the wording of Definition 2 is not known here",
            covers=_of("Definition", 1, 2),
            shown_by="tests/recipes/test_contract.py"
            "::test_channel_is_exactly_private_and_spends_its_budget",
        ),
        Entry(
            "Definition 3",
            "the same for two attributes",
            "reproduced",
            "what JuRR and TDRR promise; half-sensitive records give their other value away: "
            "[1.2](../spec/uldp.md#1.2)",
            covers=_of("Definition", 3),
            shown_by="tests/recipes/test_uldp.py::test_jurr_g_at_every_epsilon",
        ),
        Entry("Corollary 1", "", UNKNOWN, covers=_of("Corollary", 1)),
        Entry(
            "Corollary 2",
            "CPRR satisfies Definition 3",
            "refuted",
            "it satisfies another one, which is stronger for half-sensitive records: errata E8 to "
            "E10 of [the specification](../spec/uldp.md#8)",
            covers=_of("Corollary", 2),
            shown_by="tests/recipes/test_uldp.py::test_cprr",
        ),
        Entry(
            "Algorithms 1 to 4, equations",
            "channels, estimators and variances of JuRR, CPRR, TDRR, JD_GRR",
            "reproduced",
            "with the errata of [the specification](../spec/uldp.md#8), by exact channels",
            covers=_of("Algorithm", 1, 2, 3, 4),
            shown_by="tests/recipes/test_uldp.py::test_the_estimators_of_the_paper_are_the_inverse",
        ),
        Entry(
            "future work",
            "naive Bayes with sensitive classes",
            "measured",
            "not an experiment of the paper",
            "uldp-naive-bayes",
        ),
        Entry(
            "future work",
            "sensitivity by degrees",
            "reproduced",
            "[graded sensitivity](beyond.md#graded-sensitivity), by an exact channel",
            shown_by="tests/recipes/test_graded.py"
            "::test_every_record_keeps_its_own_epsilon_exactly",
        ),
    ),
)

SHUFFLE = Paper(
    "shuffle",
    "Marginals in the shuffle model",
    "Liu, Wang, Wang, [J. Software 33(3), 2022](https://www.jos.org.cn/josen/article/abstract/6450)",
    "shuffle",
    (
        Entry("Figures 1 to 3", "", UNKNOWN, covers=_of("Figure", 1, 2, 3)),
        Entry(
            "Figure 4",
            "errors of one-attribute counts: binary (a, b) and categorical (c, d)",
            "measured",
            "a: the first 36,682 people of Kosarak; c: Bank's ten categorical attributes; b and d: "
            "BMS-WebView-2 and Adult's nine stand for what is not known here",
            "shuffle-figure-4",
            covers=_of("Figure", 4),
        ),
        Entry(
            "Figure 5",
            "marginals of three attributes: CALM with each mechanism, and FT",
            "measured",
            "the first 36,682 people of Kosarak; CALM's marginals contain every pair",
            "shuffle-figure-5",
            covers=_of("Figure", 5),
        ),
        Entry(
            "Figure 5",
            "CALM over all attributes of Adult and Bank, predicted and measured",
            "measured",
            "cells drawn at random; the bins of numbers are our choice",
            "shuffle-calm-whole",
        ),
        Entry(
            "Figure 6",
            "three models trained on synthetic tables, CALM with each mechanism",
            "measured",
            "ACS 2018 with seven attributes, budgets by the accountant; the paper's SGD beside "
            "scikit-learn's",
            "shuffle-figure-6",
            covers=_of("Figure", 6),
        ),
        Entry(
            "Table 1",
            "data sets",
            "reproduced",
            "Bank (17 attributes of up to 12 values) and Adult (15, 41) are whole; of Kosarak "
            "there are 36,682 of 65,536 people, of Mexico none",
            covers=_of("Table", 1),
            shown_by="tests/benchmarks/test_pages.py::test_whole_tables_have_the_papers_sizes",
        ),
        Entry(
            "Tables 2, 3",
            "percentages of SRR, ARR and PSRR",
            "measured",
            "predicted; we do not know what the paper's percentages are percentages of",
            "shuffle-tables",
            covers=_of("Table", 2, 3),
        ),
        Entry(
            "Table 4",
            "bits of a report",
            "measured",
            "[erratum S7](../spec/shuffle.md#4); `ldpsql design` prints the bits of every survey",
            "shuffle-tables",
            covers=_of("Table", 4),
        ),
        Entry(
            "Theorems 1, 4, 7",
            "SRR-MS, ARR-SS and PSRR-SS keep their central promise",
            "reproduced",
            "with the missing square root and the missing conditions "
            "([errata S1, S2](../spec/shuffle.md#4)); the accountant is never below the truth",
            covers=_of("Theorem", 1, 4, 7),
            shown_by="tests/shuffle/test_accountant.py"
            "::test_never_below_the_truth_over_all_data_sets",
        ),
        Entry(
            "Theorems 2, 5, 8",
            "their estimators are unbiased",
            "reproduced",
            "we infer what they say from their place between those on promises and on errors",
            covers=_of("Theorem", 2, 5, 8),
            shown_by="tests/recipes/test_marginals.py"
            "::test_estimates_are_unbiased_with_honest_errors",
        ),
        Entry(
            "Theorems 3, 6, 9",
            "their errors",
            "refuted",
            "they leave out what it costs to ask each person about one attribute only "
            "([erratum S6](../spec/shuffle.md#4))",
            covers=_of("Theorem", 3, 6, 9),
            shown_by="tests/recipes/test_marginals.py::test_noise_alone_is_not_the_error",
        ),
        Entry(
            "Lemma 1",
            "parallel composition",
            "reproduced",
            "for groups that do not depend on the data ([erratum S13](../spec/shuffle.md#4))",
            covers=_of("Lemma", 1),
            shown_by="tests/recipes/test_contract.py::test_questions_are_drawn_as_stated",
        ),
        Entry(
            "SUE-MS",
            "as published",
            "not reproducible",
            "its published budget is not a bound, so a survey with it is refused, and told why; "
            "Figure 4 draws its errors, marked",
            shown_by="tests/shuffle/test_accountant.py"
            "::test_per_bit_accounting_of_linked_bits_is_far_from_safe",
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
            "feasible regions of two values, without and with delta",
            "measured",
            "exact corners",
            "response-1-binary-region",
            covers=_of("Figure", 1, 5),
        ),
        Entry(
            "Figures 2, 3, 6, 7",
            "optima within the regions, as their place suggests",
            UNKNOWN,
            "sections 2 and 3 below say where the optima are",
            covers=_of("Figure", 2, 3, 6, 7),
        ),
        Entry(
            "Figures 4, 8",
            "simulated surfaces",
            "measured",
            "the paper's grid and people are not known here",
            "response-9-binary-surface",
            covers=_of("Figure", 4, 8),
        ),
        Entry(
            "sections 2.1 to 2.3",
            "the optimum for two values under epsilon-DP, over epsilon",
            "measured",
            "lunch and finance are real columns of two values",
            "response-2-binary-epsilon",
        ),
        Entry(
            "sections 2.1 to 2.3",
            "over the prior",
            "measured",
            "exact",
            "response-3-binary-prior",
        ),
        Entry(
            "sections 3.1, 3.2",
            "two values under (epsilon, delta)-DP, over delta",
            "measured",
            "exact, with [errata R2, R3](../spec/rr-optimum.md#1.5)",
            "response-4-binary-delta",
        ),
        Entry(
            "section 3.3",
            "what delta buys",
            "measured",
            "exact; the paper does not count what is disclosed",
            "response-5-binary-cost",
        ),
        Entry(
            "section 4",
            "many values, over epsilon",
            "measured",
            "the closed form that the paper leaves open",
            "response-6-nary-epsilon",
        ),
        Entry(
            "section 4",
            "over the prior's skew",
            "measured",
            "not an experiment of the paper",
            "response-7-nary-skew",
        ),
        Entry(
            "section 4",
            "over delta",
            "measured",
            "the paper's program beside the closed form",
            "response-8-nary-delta",
        ),
    ),
)

PAPERS = (H4MDA, ULDP, SHUFFLE, RESPONSE)

Compared = tuple[str, str, str]
"""What is set, what the paper has, and what it is here: a parameter of the figure, or in words."""
_SWEEPS = (
    ("volume, size, epsilon, fan-out", "7 to 30 %, 25 to 625, 0.5 to 5, 4 to 7", "sweeps"),
    ("values of the others", "15 %, 125, 2, 5", "15 %, 125, 2, 5"),
    ("runs", UNKNOWN, "runs"),
    ("mechanisms", "HIO, AHIO, EHIO, AHEAD, HGRR, LGRR-FD, LGRR", "mechanisms"),
)
_ULDP = (
    ("epsilon", "0.5 to 6", "epsilons"),
    ("surveys for EM", UNKNOWN, "runs"),
)
_EXACT = (("epsilon", UNKNOWN, "epsilons"),)
_NINE = ("central epsilon", "0.2, 0.3, ... 1", "epsilons")
_DELTA = ("delta", "1 / people", "1 / people")
PARAMETERS: Mapping[str, tuple[Compared, ...]] = {
    "h4mda-figure-5": (("people", "2,000,000", "people"), *_SWEEPS),
    "h4mda-figure-6": (("people", "45,222", "people"), *_SWEEPS),
    "h4mda-figure-7": (("people", UNKNOWN, "people"), *_SWEEPS),
    "h4mda-tables": (
        ("people of the larger table", UNKNOWN, "people"),
        ("runs", UNKNOWN, "runs"),
    ),
    "h4mda-three": (
        ("people", "45,222", "people"),
        ("codes of each attribute", UNKNOWN, "size"),
        ("epsilon", "0.5 to 5", "epsilons"),
        ("runs", UNKNOWN, "runs"),
    ),
    "h4mda-levels": (
        ("codes", "125", "size"),
        ("fan-out", "5", "fanout"),
        ("attributes", "any", "attributes"),
    ),
    "h4mda-promises": (("epsilon", "any", "epsilons"), ("fake nodes", "any", "fakes")),
    "h4mda-bias": (
        ("epsilon", "any", "epsilons"),
        ("people", "any", "people"),
        ("codes", "any", "size"),
    ),
    "uldp-figure-3": _ULDP,
    "uldp-figure-4": (*_ULDP, ("sensitive classes", "4", "2 and 4 of 5")),
    "uldp-figure-5": (*_ULDP, ("sensitive values", "4", "2 and 4 of 5")),
    "uldp-figure-6": (
        ("people", "2,000, 5,000, 10,000", "people"),
        ("epsilon", UNKNOWN, "epsilons"),
    ),
    "uldp-figure-7": (("epsilon", UNKNOWN, "epsilon"), ("runs", UNKNOWN, "runs")),
    "uldp-naive-bayes": (
        ("epsilon", "none", "epsilons"),
        ("sensitive classes of 5", "none", "held"),
        ("runs", "none", "runs"),
        ("people who test the models", "20 %", "20 %"),
    ),
    "shuffle-figure-4": (
        _NINE,
        _DELTA,
        ("tables, with runs", "Kosarak, Mexico, Bank, Adult, with 20", "runs"),
    ),
    "shuffle-figure-5": (
        _NINE,
        _DELTA,
        ("runs", "20", "runs"),
        ("tables", "Kosarak (binary)", "tables"),
    ),
    "shuffle-calm-whole": (
        _NINE,
        _DELTA,
        ("runs, unbiased", "none", "runs"),
        ("runs, by CALM", "20", "calm_runs"),
        ("attributes", "15 of Adult, 17 of Bank", "15 and 17"),
        ("cells asked about", "all of three attributes", "cells"),
    ),
    "shuffle-figure-6": (
        ("central epsilon", "up to 1", "epsilons"),
        ("runs", "20", "runs"),
        ("people", UNKNOWN, "people"),
    ),
    "shuffle-tables": (_NINE, _DELTA, ("tables", "Kosarak, Mexico, Bank, Adult", "tables")),
    "response-1-binary-region": (*_EXACT, ("delta", UNKNOWN, "deltas")),
    "response-2-binary-epsilon": (*_EXACT, ("prior", UNKNOWN, "priors")),
    "response-3-binary-prior": _EXACT,
    "response-4-binary-delta": (
        ("epsilon", "0.1 in the example", "epsilons"),
        ("larger share", "0.8 in the example", "priors"),
        ("delta", "0.15 in the example", "deltas"),
    ),
    "response-5-binary-cost": (
        ("epsilon", "0.1 in the example", "epsilons"),
        ("larger share", "0.8 in the example", "share"),
        ("delta", "0.15 in the example", "deltas"),
    ),
    "response-6-nary-epsilon": _EXACT,
    "response-7-nary-skew": (*_EXACT, ("values", UNKNOWN, "values")),
    "response-8-nary-delta": (("epsilon", UNKNOWN, "epsilon"), ("delta", UNKNOWN, "deltas")),
    "response-9-binary-surface": (
        *_EXACT,
        ("delta", UNKNOWN, "deltas"),
        ("people per point", UNKNOWN, "people"),
    ),
}
"""Of every figure, side by side with the paper's."""
