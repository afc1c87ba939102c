"""Public. Sees parameters. The Fourier response: mechanism, design, decoding, smoothing."""
