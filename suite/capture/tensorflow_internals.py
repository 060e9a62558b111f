"""All that placebench takes from TensorFlow's private modules, each name with what it is for.

Such names may go with any version. Where one has gone, :meth:`Private.load` says which, and so does
tests/suite/test_tensorflow_internals.py, which tries them all.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any, NamedTuple

from suite.core.errors import InputError


class Private(NamedTuple):
    """A name in a module that TensorFlow does not promise to keep."""

    module: str
    name: str
    purpose: str
    """What placebench does with it, as the end of a sentence that begins "to"."""

    def __str__(self) -> str:
        """The whole dotted name."""
        return f"{self.module}.{self.name}"

    def load(self) -> Any:
        """Import it; InputError says that the installed TensorFlow has it no more."""
        try:
            return getattr(importlib.import_module(self.module), self.name)
        except (ImportError, AttributeError):
            raise InputError(
                f"TensorFlow {version('tensorflow')} has no {self}, which is needed to"
                f" {self.purpose}; install a version that placebench's pyproject.toml allows"
            ) from None


OPTIMIZE_GRAPH = Private(
    "tensorflow.python.grappler.tf_optimizer",
    "OptimizeGraph",
    "prune graphs, fold constants and inline calls with Grappler",
)
REWRITER_CONFIG = Private(
    "tensorflow.core.protobuf.rewriter_config_pb2",
    "RewriterConfig",
    "say how often Grappler's optimizers run",
)
CLUSTER = Private(
    "tensorflow.python.grappler.cluster",
    "Cluster",
    "estimate the cost of operations on a virtual device",
)
ITEM = Private(
    "tensorflow.python.grappler.item",
    "Item",
    "hand a graph to Grappler's cost estimator",
)
DEVICE_PROPERTIES = Private(
    "tensorflow.core.protobuf.device_properties_pb2",
    "DeviceProperties",
    "describe that virtual device",
)
NAMED_DEVICE = Private(
    "tensorflow.core.protobuf.device_properties_pb2",
    "NamedDevice",
    "name that virtual device",
)
REGISTERED_KERNELS = Private(
    "tensorflow.python.framework.kernels",
    "get_registered_kernels_for_op",
    "tell which operations have a GPU kernel, and which outputs it leaves in host memory",
)
KERNEL_LIST = Private(
    "tensorflow.core.framework.kernel_def_pb2",
    "KernelList",
    "read which operations have a GPU kernel in another version of TensorFlow",
)
OP_DEFINITION = Private(
    "tensorflow.python.framework.op_def_registry",
    "get",
    "tell which arguments of an operation are references to variables",
)
RESOURCE_HANDLE_DATA = Private(
    "tensorflow.python.ops.handle_data_util",
    "get_resource_handle_data",
    "find type and shape of the variable behind a handle",
)
PRIVATE = (
    OPTIMIZE_GRAPH,
    REWRITER_CONFIG,
    CLUSTER,
    ITEM,
    DEVICE_PROPERTIES,
    NAMED_DEVICE,
    REGISTERED_KERNELS,
    KERNEL_LIST,
    OP_DEFINITION,
    RESOURCE_HANDLE_DATA,
)
