"""UCI's Nursery, generated: all 12,960 combinations of eight attributes, and the class of each.

The class follows from the attributes by the small tables below, which were found by looking for
values that never make a difference. Source of the data: Rajkovic, Nursery, UCI Machine Learning
Repository, doi:10.24432/C5P88W, CC BY 4.0.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pyarrow as pa

ATTRIBUTES = {
    "parents": ("usual", "pretentious", "great_pret"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "form": ("complete", "completed", "incomplete", "foster"),
    "children": ("1", "2", "3", "more"),
    "housing": ("convenient", "less_conv", "critical"),
    "finance": ("convenient", "inconv"),
    "social": ("nonprob", "slightly_prob", "problematic"),
    "health": ("recommended", "priority", "not_recom"),
}
"""Values in the order of the file."""
CARE = ("01123", "11233", "22333")
"""Of parents by has_nurs: four grades, 0 the best."""
FAMILY = ("0122", "1122", "1222", "2222")
"""Of form by children: three grades."""
HOME = ("01", "11", "22")
"""Of housing by finance."""
LIVING = ("011", "112", "122")
"""Of the grades of family by those of home."""
HEALTH = ("012", "012", "112")
"""Of social by health."""
CLASSES = {"r": "recommend", "v": "very_recom", "p": "priority", "s": "spec_prior"}
CLASS = (("rp", "vp", "pp", "pp"), ("vp", "vp", "pp", "ps"), ("pp", "pp", "ps", "ss"))
"""Of the grades of living by care by health; health 2 is never recommended."""


def class_of(codes: tuple[int, ...]) -> str:
    """Of somebody with these values, by their places."""
    parents, has_nurs, form, children, housing, finance, social, health = codes
    grade = int(HEALTH[social][health])
    if grade == 2:
        return "not_recom"
    living = int(LIVING[int(FAMILY[form][children])][int(HOME[housing][finance])])
    return CLASSES[CLASS[living][int(CARE[parents][has_nurs])][grade]]


@cache
def table() -> pa.Table:
    """The rows in the order of the file."""
    rows = list(product(*(range(len(values)) for values in ATTRIBUTES.values())))
    columns = {
        name: [values[row[place]] for row in rows]
        for place, (name, values) in enumerate(ATTRIBUTES.items())
    }
    return pa.table({**columns, "class": [class_of(row) for row in rows]})
