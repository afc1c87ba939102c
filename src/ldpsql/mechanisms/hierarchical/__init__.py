"""The trees of H4MDA and its baselines: HGRR, HIO, AHIO, EHIO, and flat oracles."""
