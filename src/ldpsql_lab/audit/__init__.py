"""The audit from outside: bisection of a device over its words, sampling, odd records."""
