"""Tables of made-up people, drawn from what a survey's reports say; run by the collector.

synthesizer = Synthesizer.of(store, survey)
synthesizer.table(10_000, seed=1), synthesizer.notes
"""

from ldpsql.synthesis.synthesizer import Synthesizer

__all__ = ["Synthesizer"]
