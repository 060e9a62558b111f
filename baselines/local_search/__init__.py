"""Moves of local search, and the critical chain that suggests them."""
