"""Runs at the researcher. Mechanisms that nobody deploys, comparisons, and audits from outside."""
