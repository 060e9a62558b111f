"""Parts of networks that policies share: layers, attention, optimizers. No policy."""
