"""Public. Sees parameters. AHEAD: grids that later rounds refine where people are."""
