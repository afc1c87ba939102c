"""Public. Sees parameters. Domains: which values an attribute may take, and their codes.

A domain maps values to codes 0..size-1 (`code`, used on the device), codes back to a value that
stands for them (`labels`, used in GROUP BY), and a comparison with a literal to the set of codes
whose every value satisfies it (`matching`, used for WHERE). Where a literal falls inside a bin
there is no such set, and the comparison is refused with the nearest literals that work.

Two classes serve every type: `Ordered` (int, float, date, timestamp: bins between edges) and
`Listed` (category, bool: values written out). The functions of `build` make them from the keys
of a survey file.
"""

from ldpsql_device.domains.base import COMPARISONS, LARGEST_DOMAIN, Domain, Value
from ldpsql_device.domains.build import (
    UNITS,
    float_bins,
    float_edges,
    int_domain,
    int_edges,
    time_range,
)
from ldpsql_device.domains.listed import BOOL, Listed
from ldpsql_device.domains.ordered import Ordered

__all__ = [
    "BOOL",
    "COMPARISONS",
    "LARGEST_DOMAIN",
    "UNITS",
    "Domain",
    "Listed",
    "Ordered",
    "Value",
    "float_bins",
    "float_edges",
    "int_domain",
    "int_edges",
    "time_range",
]
