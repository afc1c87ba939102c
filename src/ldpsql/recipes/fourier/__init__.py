"""Run by the designer: which families of a Fourier response answer a workload best."""
