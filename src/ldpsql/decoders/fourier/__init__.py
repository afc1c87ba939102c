"""Run by the collector: the decoder of the Fourier response."""
