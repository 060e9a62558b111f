"""Cells of a grid on the nodes of a Ray cluster: what the driver does, and what each node does."""
