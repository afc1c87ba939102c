"""Public. Sees parameters. The channel of least variance for a workload."""
