"""Placers that do not learn, one a file."""
