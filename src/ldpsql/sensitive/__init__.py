"""Utility-optimised mechanisms, which protect sensitive values only: uRR, uRAP, JuRR, CPRR."""
