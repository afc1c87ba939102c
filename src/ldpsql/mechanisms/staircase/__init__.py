"""The staircase response: weights per pair of codes that are optimised for a workload."""
