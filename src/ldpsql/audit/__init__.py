"""Public. Sees parameters. What a design promises, checked.

From its integers by enumeration in exact fractions, and from its device code by experiment. No
person's record enters: the device code is run on made-up ones.
"""

from ldpsql.audit.check import audit_design
from ldpsql.audit.result import Audit, Empirical

__all__ = ["Audit", "Empirical", "audit_design"]
