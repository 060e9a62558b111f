"""List scheduling for placers: compiled kernels that decide by earliest start or finish."""
