"""What a placer sees: its search, with a budget, a log and checkpoints; and who the placers are."""
