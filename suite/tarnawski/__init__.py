"""Cost graphs of Tarnawski et al. (NeurIPS 2020): their files, cost model and algorithms."""
