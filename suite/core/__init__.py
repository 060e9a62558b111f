"""Graphs, machines, problems and placements: frozen values, no files."""
