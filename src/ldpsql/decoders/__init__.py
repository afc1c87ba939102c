"""Run by the collector, on counts of reports: they turn counts into estimates."""
