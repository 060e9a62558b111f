"""The two ways in which reference.py counts memory: by tensor, or by operation."""

from __future__ import annotations

from collections import defaultdict

from suite.simulator.placed import Placed

Instance = tuple[int, int]
"""A tensor on a device: the original on its producer's, a copy elsewhere."""


class Memory:
    """Bytes in use and their peak, per device."""

    def __init__(self, placed: Placed) -> None:
        """Make the variables resident."""
        self.placed = placed
        self.used = [0] * placed.machine.n_devices
        if placed.rules.variables:
            for op, size in enumerate(placed.graph.persistent_bytes):
                self.used[placed.at[op]] += int(size)
        self.peak = list(self.used)

    def take(self, device: int, size: int) -> None:
        """Allocate."""
        self.used[device] += size
        self.peak[device] = max(self.peak[device], self.used[device])

    def started(self, op: int) -> None:
        """An operation starts."""

    def ended(self, op: int) -> None:
        """An operation has ended; nothing it produced was sent yet."""

    def requested(self, tensor: int, target: int) -> None:
        """A copy is asked for."""

    def arrived(self, tensor: int, source: int) -> None:
        """A copy is there."""


class Tensors(Memory):
    """Originals and copies, in buffers by reference count."""

    def __init__(self, placed: Placed) -> None:
        """Nothing is allocated but variables."""
        super().__init__(placed)
        self.buffer: dict[Instance, Instance] = {}
        self.sharers: dict[Instance, int] = defaultdict(int)
        self.uses: dict[Instance, int] = {}

    def started(self, op: int) -> None:
        """Allocate its outputs."""
        if not self.placed.rules.alloc_at_end:
            self.allocate_outputs(op)

    def ended(self, op: int) -> None:
        """Free what it was the last to read, and outputs that nobody will."""
        device = self.placed.at[op]
        for tensor in self.placed.inputs[op]:
            self.arrived(tensor, device)
        if self.placed.rules.alloc_at_end:
            self.allocate_outputs(op)
        for tensor in self.placed.outputs[op]:
            if not self.uses[tensor, device]:
                self.done((tensor, device))

    def requested(self, tensor: int, target: int) -> None:
        """Allocate the copy."""
        self.own((tensor, target), self.placed.size[tensor])
        self.uses[tensor, target] = self.placed.readers_on(tensor, target)

    def arrived(self, tensor: int, source: int) -> None:
        """One consumer or transfer is finished with the tensor on this device."""
        self.uses[tensor, source] -= 1
        if not self.uses[tensor, source]:
            self.done((tensor, source))

    def allocate_outputs(self, op: int) -> None:
        """Give each output a buffer, or its share of another's."""
        device, rules = self.placed.at[op], self.placed.rules
        for tensor in self.placed.outputs[op]:
            instance = tensor, device
            shared = int(self.placed.graph.alias_of[tensor])
            ignored = rules.unread == "ignored" and not self.placed.readers[tensor]
            if rules.aliases and shared >= 0:
                self.buffer[instance] = self.buffer[shared, device]
                self.sharers[self.buffer[instance]] += 1
            else:
                self.own(instance, 0 if ignored else self.placed.size[tensor])
            local = self.placed.readers_on(tensor, device)
            self.uses[instance] = local + len(self.placed.targets(tensor))

    def own(self, instance: Instance, size: int) -> None:
        """Allocate a buffer."""
        self.buffer[instance] = instance
        self.sharers[instance] = 1
        self.take(instance[1], size)

    def done(self, instance: Instance) -> None:
        """Free the buffer if nobody else shares it."""
        owner = self.buffer[instance]
        self.sharers[owner] -= 1
        if not self.sharers[owner]:
            tensor, device = owner
            ignored = self.placed.rules.unread == "ignored" and not self.placed.readers[tensor]
            self.used[device] -= 0 if ignored else self.placed.size[tensor]


class Outputs(Memory):
    """One block per operation, freed when its last reader on any device has ended."""

    def __init__(self, placed: Placed) -> None:
        """Size the blocks."""
        super().__init__(placed)
        counted = 1 if placed.rules.memory == "first-output" else None
        sizes = placed.graph.tensor_bytes
        self.block = [sum(int(sizes[t]) for t in outs[:counted]) for outs in placed.outputs]
        self.left = [
            {(tensor, op) for tensor in outs for op in placed.readers[tensor]}
            for outs in placed.outputs
        ]

    def started(self, op: int) -> None:
        """Allocate its block."""
        self.take(self.placed.at[op], self.block[op])

    def ended(self, op: int) -> None:
        """Free the blocks it was the last to read; its own if nobody will read it."""
        for tensor in self.placed.inputs[op]:
            source = int(self.placed.graph.producer[tensor])
            self.left[source].remove((tensor, op))
            if not self.left[source]:
                self.used[self.placed.at[source]] -= self.block[source]
        if not self.left[op] and self.placed.rules.unread == "freed":
            self.used[self.placed.at[op]] -= self.block[op]
