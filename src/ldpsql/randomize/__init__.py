"""Stands in for devices: randomizes tables of many people, for tests and evaluation."""
