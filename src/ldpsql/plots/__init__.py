"""Plots, for whoever designs a survey or compares mechanisms; they show errors, never records.

matplotlib is optional (`pip install ldpsql[plot]`) and is imported when something is drawn.
"""
