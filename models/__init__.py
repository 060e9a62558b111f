"""The neural networks whose training steps are placed, one family a file."""
