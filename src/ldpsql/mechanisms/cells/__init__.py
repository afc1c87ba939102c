"""Public. Sees parameters. Channels over few cells, drawn from a table of whole numbers."""
