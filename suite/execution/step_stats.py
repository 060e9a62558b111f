"""The parts of TensorFlow's step statistics that are read here, typed.

TensorFlow's own classes are made from protocol buffers in a private module; what a session fills in
(``RunMetadata.step_stats``) has these fields among others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class AllocationRecord(Protocol):
    """An allocation, or a release of negative size."""

    alloc_micros: int
    alloc_bytes: int


class AllocatorMemoryUsed(Protocol):
    """What one operation had from one allocator."""

    allocator_bytes_in_use: int
    """Of all that the allocator had handed out when the operation ended; 0: not told."""

    @property
    def allocation_records(self) -> Sequence[AllocationRecord]:
        """In order of time."""
        ...


class NodeStats(Protocol):
    """One run of one operation."""

    node_name: str
    timeline_label: str
    all_start_micros: int
    all_start_nanos: int
    op_start_rel_micros: int
    op_start_rel_nanos: int
    op_end_rel_micros: int
    op_end_rel_nanos: int

    @property
    def memory(self) -> Sequence[AllocatorMemoryUsed]:
        """One entry an allocator."""
        ...


class DeviceStats(Protocol):
    """All that ran on one device, or on one stream of a GPU."""

    device: str

    @property
    def node_stats(self) -> Sequence[NodeStats]:
        """In the order in which they ended."""
        ...


class StepStats(Protocol):
    """All that ran in one step."""

    @property
    def dev_stats(self) -> Sequence[DeviceStats]:
        """One entry a device; of GPUs, more for their streams."""
        ...
