"""Mechanisms that ask for marginals: SRR-MS, ARR-SS, PSRR-SS of the shuffle model, and CALM."""
