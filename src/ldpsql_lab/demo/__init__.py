"""A whole survey of made-up people: a collector, devices that report over HTTP, and questions."""
