"""Checks of what a design promises; run by anybody, on made-up records alone."""

from ldpsql.audit.check import Audit, audit_design

__all__ = ["Audit", "audit_design"]
