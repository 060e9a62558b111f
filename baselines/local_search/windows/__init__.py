"""Search in windows of a step's time, each simulated again from where it begins."""
