"""Runs at the collector. Sees reports. Post-processing of Fourier estimates, in pure numpy."""

from ldpsql.mechanisms.fourier.smoothing.block import Block, Smoothed
from ldpsql.mechanisms.fourier.smoothing.summary import smooth

__all__ = ["Block", "Smoothed", "smooth"]
