"""The process in which OpenVINO runs placed inferences; it keeps the model that it ran last."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from suite.capture.describe_exception import describe_exception
from suite.capture.openvino.read import keep_to_ourselves
from suite.capture.openvino.to_graph import op_names
from suite.capture.tracing import network
from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.execution.child import Receive, Send
from suite.execution.measurement import OutputError
from suite.execution.openvino.devices import Devices, Settings, open_devices
from suite.execution.openvino.network import Network
from suite.execution.openvino.profile import trace_of
from suite.execution.request import Done, Failed, Ready, Request, Started

if TYPE_CHECKING:
    import openvino
    from numpy.typing import NDArray


def drive(receive: Receive, send: Send, kinds: tuple[str, ...]) -> None:
    """Child: say which devices there are, then run one Request after another."""
    keep_to_ourselves()
    import openvino

    core = openvino.Core()
    devices = open_devices(core, kinds)
    send(Ready(devices.names, devices.virtual))
    loaded: _Loaded | None = None
    while True:
        request: Request = receive()
        try:
            step = request.step
            assert isinstance(step, Network)
            if loaded is None or loaded.key != _key(step):
                loaded = _Loaded.of(step, core, devices)
            send(_run(request, loaded, core, devices, send))
        except InputError as error:
            send(Failed("error", str(error)))
        except Exception as error:
            send(Failed("error", describe_exception(error)))


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A model, what goes in, and what comes out of it on each device alone."""

    key: str
    model: openvino.Model
    inputs: list[NDArray[np.generic]]
    alone: dict[int, Floats]
    """Device -> all outputs, float64; without those that cannot run the whole model."""

    @classmethod
    def of(cls, step: Network, core: openvino.Core, devices: Devices) -> _Loaded:
        model = network(step.model, step.options)
        if tuple(op_names(model.get_ordered_ops())) != step.op_names:
            raise InputError(f"{step.model} has changed since it was captured; place it again")
        inputs = made_up(model, step.seed)
        alone = {}
        for device, name in enumerate(devices.names):
            try:
                compiled = core.compile_model(model.clone(), name, devices.settings[name])
            except RuntimeError:
                continue
            alone[device] = _outputs(compiled.create_infer_request(), inputs)
        return cls(_key(step), model, inputs, alone)


def _key(step: Network) -> str:
    return repr((step.model, asdict(step.options), step.seed))


def made_up(model: openvino.Model, seed: int) -> list[NDArray[np.generic]]:
    """Values of a model's inputs: standard normal, or zeros and ones where they are integers."""
    rng = np.random.default_rng(seed)
    values: list[NDArray[np.generic]] = []
    for port in model.inputs:
        shape, kind = tuple(port.get_shape()), np.dtype(port.get_element_type().to_dtype())
        real = kind.kind not in "iub"
        drawn = rng.standard_normal(shape) if real else rng.integers(0, 2, shape)
        values.append(drawn.astype(kind))
    return values


def _run(
    request: Request, loaded: _Loaded, core: openvino.Core, devices: Devices, send: Send
) -> Done:
    timing, model = request.timing, loaded.model.clone()
    # Every operation needs a device, and get_ops() has them in no known order.
    for op, device in zip(model.get_ordered_ops(), request.devices.tolist(), strict=True):
        op.get_rt_info()["affinity"] = devices.names[device]
    counted: Settings = {"PERF_COUNT": True} if timing.traced else {}
    each = {name: own | counted for name, own in devices.settings.items()}
    config: Settings = {**counted, "DEVICE_PROPERTIES": each}
    compiled = core.compile_model(model, f"HETERO:{','.join(devices.names)}", config)
    inference = compiled.create_infer_request()
    found, times = _outputs(inference, loaded.inputs), []
    send(Started())
    for _ in range(timing.steps):
        start = time.perf_counter()
        inference.infer(loaded.inputs)
        times.append(time.perf_counter() - start)
    traces = []
    for _ in range(timing.traced):
        inference.infer(loaded.inputs)
        traces.append(trace_of(inference.profiling_info, request.step.op_names, request.devices))
    errors = tuple(OutputError.of(d, found, alone) for d, alone in loaded.alone.items())
    parts = int(compiled.get_property("HETERO_NUMBER_OF_SUBMODELS"))
    nothing = ((),) * timing.steps
    return Done(tuple(times), nothing, (), "unknown", tuple(traces), errors, parts)


def _outputs(inference: openvino.InferRequest, inputs: list[NDArray[np.generic]]) -> Floats:
    """All outputs of one inference, one behind the other."""
    results = inference.infer(inputs)
    parts = [np.asarray(value, np.float64).reshape(-1) for value in results.to_tuple()]
    return np.concatenate(parts)
