"""Public. Sees parameters. The channel that most often tells the truth."""
