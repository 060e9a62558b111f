"""Graph partitioning for placers: the problem handed to a partitioner, and its answer."""
