"""Grids of cells to records: run, resume, compare and verify."""
