"""Plots, for whoever designs a survey or compares mechanisms. Sees numbers to draw, no records.

matplotlib is optional (`pip install ldpsql[plot]`) and is imported when something is drawn.
"""
