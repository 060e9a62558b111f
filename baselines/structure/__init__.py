"""The repeated structure of a graph, found from its operations and edges, never from names."""
