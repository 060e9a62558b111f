"""A Ray cluster as a search sees it: nodes with a process of ours each, and a judge on them all."""
