"""Measures this host's devices and links into a machine."""
