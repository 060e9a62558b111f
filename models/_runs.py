"""Layers in runs, as the experts of GDP's models place them."""

from __future__ import annotations


def gpu_of_run(layer: int, layers: int, gpus: int) -> int:
    """The GPU of a layer: runs of as many on each, in order, or one each where GPUs suffice."""
    return layer * min(gpus, layers) // layers
