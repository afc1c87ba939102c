"""Public. Sees parameters. The mechanisms: one file each, one line each in `registry`."""
