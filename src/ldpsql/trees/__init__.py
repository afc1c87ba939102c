"""Public. Sees parameters. Hierarchical trees: levels, covers, cells."""
