"""The harness: graphs, machines, the simulator, cells, records, tables."""
