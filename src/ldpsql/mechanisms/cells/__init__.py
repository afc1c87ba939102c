"""Public. Sees parameters. Answers from tables of cells, and channels drawn from whole numbers."""
