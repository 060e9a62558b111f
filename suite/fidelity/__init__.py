"""How true the simulator is: the same placements simulated and run (docs/fidelity.md)."""
