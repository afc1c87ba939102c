"""The usual charts of a survey that is answered once in each period, as one page for publishing."""
