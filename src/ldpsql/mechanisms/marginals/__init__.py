"""Public. Sees parameters. Mechanisms that ask each person about one marginal of several."""
