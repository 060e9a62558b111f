"""What learned placers see of a problem: its graph of classes, and tables of numbers about them."""
