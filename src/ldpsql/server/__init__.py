"""Run by the collector; sees reports. One process owns a store, and devices post reports to it.

Nothing of a request is kept or logged but the reports in it: no address, no user agent, no time.
"""

PLACES = 4
"""How many requests of analysts are worked on at once, of each kind."""
