"""Placers that learn, one a file."""
