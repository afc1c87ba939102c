"""Run by the designer and the collector; sees no report. From base queries to planned ones."""
