"""The regression gate: the records of two commits compared cell by cell (docs/gate.md)."""
