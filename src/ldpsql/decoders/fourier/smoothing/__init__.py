"""Post-processing of Fourier estimates to one non-negative summary."""

from ldpsql.decoders.fourier.smoothing.choice import smooth
from ldpsql.decoders.fourier.smoothing.layout import Block, Smoothed

__all__ = ["Block", "Smoothed", "smooth"]
