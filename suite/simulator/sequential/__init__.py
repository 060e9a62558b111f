"""Steps in which no two devices ever work at the same time."""
