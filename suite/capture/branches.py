"""Branches (``tf.cond``) that only compute: both sides are, and what is asked for is chosen.

A graph of plain operations has no branches. Where neither side does anything but compute values,
both may run, and a ``SelectV2`` hands on those of one (if-conversion, Allen et al. 1983).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from suite.capture.tensorflow_internals import OP_DEFINITION

if TYPE_CHECKING:
    import tensorflow as tf

_BRANCHES = ("If", "StatelessIf")
_SIDES = ("then_branch", "else_branch")
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")
"""Operations that depend on a state and leave it as it is."""
_CHECKS = ("CheckNumerics", "CheckNumericsV2")
_DIVISIONS = ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod")
"""Of whole numbers they fail where they divide by 0."""
CALL = "PartitionedCall"
"""How a side is called: of what it reads, Grappler then need not see that it is read each time."""

Bodies = Mapping[str, Any]
"""The nodes of every function, by its name."""


def open_branches(graph_def: tf.compat.v1.GraphDef) -> list[str]:
    """Replace branches of a GraphDef and its functions, in place, by both sides and a choice.

    The sides are called; what is chosen has the branch's name. Returns the names of the branches
    replaced. Those stay that write, draw random numbers or hand on handles, whose sides may differ
    in shape, or that gradients go through (which TensorFlow hands on as variants).
    """
    bodies = {one.signature.name: one.node_def for one in graph_def.library.function}
    # Within a function, the name of a node's output is part of a reference to it.
    places = [(graph_def.node, ""), *((nodes, ":output") for nodes in bodies.values())]
    opened = []
    for nodes, output in places:
        for node in [node for node in nodes if node.op in _BRANCHES and _may_open(node, bodies)]:
            _open(nodes, node, output)
            opened.append(node.name)
    return opened


def _may_open(node: tf.compat.v1.NodeDef, bodies: Bodies) -> bool:
    """Whether both sides only compute, and a choice between all of their outputs can be made."""
    import tensorflow as tf

    shapes = [tf.TensorShape(shape) for shape in node.attr["output_shapes"].list.shape]
    types = [tf.as_dtype(number) for number in node.attr["Tout"].list.type]
    return (
        tf.as_dtype(node.attr["Tcond"].type).is_bool
        and len(shapes) == len(types)
        and all(shape.is_fully_defined() for shape in shapes)
        and not any(kind.name in ("resource", "variant") for kind in types)
        and all(_computes(node.attr[side].func.name, bodies) for side in _SIDES)
    )


def _computes(function: str, bodies: Bodies) -> bool:
    """Whether a function and all it calls change no state, draw nothing and never fail."""
    definition = OP_DEFINITION.load()
    for node in bodies[function]:
        called = [node.op] if node.op in bodies else []
        for attr in node.attr.values():
            called += [attr.func.name] if attr.HasField("func") else []
            called += [one.name for one in attr.list.func]
        if called:
            if not all(_computes(one, bodies) for one in called):
                return False
        elif node.op not in _READS and definition(node.op).is_stateful:
            return False
        if _may_fail(node, bodies[function]):
            return False
    return True


def _may_fail(node: tf.compat.v1.NodeDef, body: Any) -> bool:
    """Whether it ends the step for some values, from which the branch may be what keeps it."""
    import tensorflow as tf

    if node.op not in _DIVISIONS or not tf.as_dtype(node.attr["T"].type).is_integer:
        return node.op in _CHECKS
    by = node.input[1].partition(":")[0]
    known = next((one for one in body if one.name == by and one.op == "Const"), None)
    return known is None or not tf.make_ndarray(known.attr["value"].tensor).all()


def _open(nodes: Any, branch: tf.compat.v1.NodeDef, output: str) -> None:
    """Make a branch among ``nodes`` a choice between what two calls return."""
    condition, *arguments = branch.input
    calls = [f"{branch.name}/{side}" for side in _SIDES]
    for call, side in zip(calls, _SIDES, strict=True):
        node = nodes.add(name=call, op=CALL, input=arguments)
        node.attr["f"].func.CopyFrom(branch.attr[side].func)
        for name in ("Tin", "Tout"):
            node.attr[name].CopyFrom(branch.attr[name])
    types = list(branch.attr["Tout"].list.type)
    del branch.input[:]
    for number, kind in enumerate(types):
        both = [f"{call}{output}:{number}" for call in calls]
        chosen = nodes.add(op="SelectV2", input=[condition, *both])
        chosen.name = f"{branch.name}/chosen_{number}"
        chosen.attr["T"].type = kind
        branch.input.append(f"{chosen.name}{output}:0")
    branch.op = "IdentityN"
    branch.ClearField("attr")
    branch.attr["T"].list.type.extend(types)
