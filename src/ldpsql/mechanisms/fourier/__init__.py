"""The Fourier response: questions about frequencies of the codes."""
