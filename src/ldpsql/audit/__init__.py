"""What a design promises, checked; run by anybody, on made-up records alone.

`exact` enumerates the channel of a small design and holds the definitions, `bisection` finds the
exact law of the device code from outside, `sampling` tries it on records, `central` checks what a
shuffled batch promises, and `check` says what of it is established for a design.
"""

from ldpsql.audit.check import Audit, audit_design
from ldpsql.audit.sampling import Empirical

__all__ = ["Audit", "Empirical", "audit_design"]
