"""The accountant of the shuffle model: what shuffling reports is worth.

Run by whoever designs or audits a survey; sees parameters only.
"""
