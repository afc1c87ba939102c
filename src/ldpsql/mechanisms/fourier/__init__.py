"""Public. Sees parameters. The Fourier response: one round, unbiased, near the best possible."""
