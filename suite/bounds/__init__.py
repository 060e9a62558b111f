"""Proven lower bounds on the step time of every placement of a problem."""
