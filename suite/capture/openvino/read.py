"""Files and Python objects -> OpenVINO's models of fixed shapes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.options import Options
from suite.core.errors import InputError
from suite.core.extras import require_openvino

if TYPE_CHECKING:
    import openvino

BATCH = 1
"""The first dimension of inputs that leave it open: inference is about one answer's latency."""


def keep_to_ourselves() -> None:
    """Let nothing be sent: OpenVINO's converter tells its makers of each conversion.

    For a process of ours, before OpenVINO is loaded.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]


def is_network(found: object) -> bool:
    """Whether a Python object is a model of OpenVINO's or a module of PyTorch's.

    Or a pair of one and its example inputs.
    """
    if isinstance(found, tuple | list) and len(found) == 2:
        found = found[0]
    kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(found).__mro__]
    return ("openvino", "Model") in kinds or ("torch", "Module") in kinds


def read_file(path: str, options: Options) -> tuple[openvino.Model, list[str]]:
    """Read an IR, or convert an ONNX or another file; also return what was chosen, in words.

    InputError if it cannot be read or leaves shapes open.
    """
    require_openvino(path)
    import openvino

    try:
        if Path(path).suffix == ".xml":
            model = openvino.Core().read_model(path)
        else:
            model = openvino.convert_model(path)
    except Exception as error:
        raise InputError(f"{path} cannot be read: {_last_words(error)}; write it again") from None
    return model, fix_shapes(model, options)


def convert(target: str, found: object, options: Options) -> tuple[openvino.Model, list[str]]:
    """Convert what ``package.module:function`` gives, or returns, as :func:`read_file` does.

    A pair holds example inputs, too, whose sizes count where neither model nor options give any.
    A module of PyTorch's is traced with these, or else with zeros of the sizes and types in the
    options; without either it is scripted, which few modules allow.
    """
    require_openvino(target)
    import openvino

    model, example = found if isinstance(found, tuple | list) else (found, None)
    if not isinstance(model, openvino.Model):
        model = _of_module(target, model, example, options)
    return model, fix_shapes(model, _with_sizes_of(example, model, options))


def _of_module(target: str, module: object, example: object, options: Options) -> openvino.Model:
    import openvino

    if example is None and options.inputs:
        import torch

        types = {name: getattr(torch, dtype) for name, dtype in options.types.items()}
        example = {
            name: torch.zeros(shape, dtype=types.get(name))
            for name, shape in options.inputs.items()
        }
    try:
        return openvino.convert_model(module, example_input=example)
    except Exception as error:
        said = describe_exception(error)
        raise InputError(
            f"{target} cannot be converted by OpenVINO: {said}; return a pair, the module and its"
            " example inputs"
        ) from None


def _with_sizes_of(example: object, model: openvino.Model, options: Options) -> Options:
    """The options, and the sizes of example inputs where these and the model leave them open."""
    ports = {_name(port): port for port in model.inputs}
    if not isinstance(example, Mapping):
        several = example if isinstance(example, tuple | list) else [example]
        example = dict(zip(ports, several, strict=False))
    sizes = {}
    for name, value in example.items():
        shape = getattr(value, "shape", None)
        if shape and name in ports and ports[name].get_partial_shape().is_dynamic:
            first = options.batch or int(shape[0])
            sizes[name] = (first, *(int(size) for size in shape[1:]))
    return replace(options, inputs=sizes | dict(options.inputs))


def fix_shapes(model: openvino.Model, options: Options) -> list[str]:
    """Give every input its shape, and fold what follows from that; what was chosen, in words."""
    from openvino import PartialShape, Type

    known = {_name(port): port for port in model.inputs}
    sizes = {name: _sizes(port.get_partial_shape()) for name, port in known.items()}
    options.check_inputs(sizes)
    options = replace(options, batch=options.batch or BATCH)
    shapes, chosen = {}, []
    for name, port in known.items():
        shape = options.shape(name, sizes[name])
        if name in options.types:
            kind = port.get_element_type()
            # NumPy has no bfloat16, and OpenVINO gives another type for it.
            options.dtype(name, "bfloat16" if kind == Type.bf16 else kind.to_dtype().name)
        if port.get_partial_shape().is_dynamic:
            shapes[port] = PartialShape([*shape])
            chosen.append(f"input {name}: {', '.join(map(str, shape)) or 'a scalar'}")
    if shapes:
        try:
            model.reshape(shapes)
        except Exception as error:
            raise InputError(
                f"the inputs' sizes do not fit the model: {_last_words(error)}"
            ) from None
        _fold(model)
    return chosen


def as_stored(model: openvino.Model) -> openvino.Model:
    """The model as its IR has it, weights stored as float16; no file is left."""
    import openvino

    core = openvino.Core()
    core.set_property({"ENABLE_MMAP": False})  # else the file must stay
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        path = Path(folder) / "model.xml"
        openvino.save_model(model, path, compress_to_fp16=True)
        return core.read_model(path)


def _sizes(shape: openvino.PartialShape) -> list[int | None] | None:
    if shape.rank.is_dynamic:
        return None
    return [size.get_length() if size.is_static else None for size in shape]


def _name(port: openvino.Output) -> str:
    """What people call an input: its first tensor name, else the operation's name."""
    names: list[str] = sorted(port.get_names())
    own = str(port.get_node().get_friendly_name())
    return own if own in names or not names else names[0]


def _fold(model: openvino.Model) -> None:
    """Compute what follows from the inputs' sizes; constants stored as float16 stay so."""
    from openvino.passes import ConstantFolding, Manager

    manager = Manager()
    manager.register_pass(ConstantFolding())
    manager.run_passes(model)


def _last_words(error: Exception) -> str:
    """The line of OpenVINO's message that says what is wrong: the last that is not a place."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(("Exception from", "Check '"))]
    return (told[-1] if told else type(error).__name__).rstrip(".")
