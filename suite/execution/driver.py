"""The process that runs steps: one session per request, in itself or as master of a cluster."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.core.errors import InputError
from suite.execution.child import Receive, Send
from suite.execution.memory import peaks
from suite.execution.placed import placed
from suite.execution.request import Done, Failed, Hardware, Ready, Request, Started
from suite.execution.statistics import trace_of
from suite.execution.step_stats import StepStats
from suite.execution.visible_gpus import free_megabytes, visible_gpu

if TYPE_CHECKING:
    import tensorflow as tf


def drive(receive: Receive, send: Send, hardware: Hardware) -> None:
    """Child: say which devices there are, then run one Request after another."""
    import tensorflow as tf

    try:
        present = _gpus_present(hardware)
        settings = config(hardware, present)
    except InputError as error:
        send(Ready((), False, str(error)))
        return
    target = _target(hardware) if hardware.workers else ""
    with tf.Graph().as_default(), tf.compat.v1.Session(target, config=settings) as session:
        names = tuple(device.name for device in session.list_devices())
    send(greeting(hardware, present, names))
    while True:
        request: Request = receive()
        try:
            send(_run(request, target, settings, send))
        except tf.errors.ResourceExhaustedError as error:
            send(Failed("oom", _first_words(error)))
        except tf.errors.OpError as error:
            send(Failed("error", f"{type(error).__name__}: {_first_words(error)}"))
        except InputError as error:
            send(Failed("error", str(error)))
        except Exception as error:
            send(Failed("error", describe_exception(error)))


def greeting(hardware: Hardware, present: int, names: tuple[str, ...]) -> Ready:
    """What is said of the devices called ``names``; ``present``: physical GPUs."""
    if present >= hardware.gpus:
        return Ready(names, virtual=hardware.cpus > 1)
    told = (
        f"{hardware.gpus} GPUs are wanted, TensorFlow sees {present} here: the first is split into"
        f" {hardware.gpus} virtual ones, and step times are no speeds of such a machine"
    )
    return Ready(names, virtual=True, warning=told)


_NOISE = r"Graph execution error|Detected at|Node:|Hint:|Original stack|<stack|\d+ root error"


def _first_words(error: tf.errors.OpError) -> str:
    """TensorFlow's message without the stack of the graph's construction and the hints."""
    lines = [line for line in error.message.splitlines() if re.match(r"\S|\s*\(\d+\)", line)]
    said = " ".join(line for line in lines if not re.match(_NOISE, line))
    return " ".join((said or error.message).split())[:500]


def config(hardware: Hardware, present: int) -> tf.compat.v1.ConfigProto:
    """A ``ConfigProto`` under which what is placed is what runs; ``present``: physical GPUs.

    No soft placement; none of Grappler's rewrites (layout, constant folding, remapping, ...) and
    none of the older graph optimizer's (common subexpressions, constant folding, inlining).
    """
    import tensorflow as tf

    settings = tf.compat.v1.ConfigProto(allow_soft_placement=False, isolate_session_state=True)
    settings.device_count["CPU"] = max(1, hardware.cpus)
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    settings.graph_options.optimizer_options.opt_level = -1
    if hardware.cpus > 1:  # logical CPUs share one pool: give each a thread
        settings.intra_op_parallelism_threads = 1
        settings.inter_op_parallelism_threads = hardware.cpus
    used = min(present, hardware.gpus)
    settings.device_count["GPU"] = used
    if used:
        settings.gpu_options.visible_device_list = ",".join(map(str, range(used)))
        settings.gpu_options.allow_growth = True
    if used < hardware.gpus:
        settings.gpu_options.visible_device_list = "0"
        settings.device_count["GPU"] = 1
        share = 0.9 * free_megabytes(visible_gpu(0)) / hardware.gpus
        virtual = settings.gpu_options.experimental.virtual_devices.add()
        virtual.memory_limit_mb.extend([share] * hardware.gpus)
    return settings


def _gpus_present(hardware: Hardware) -> int:
    """How many GPUs of this host TensorFlow sees; InputError where it sees none of those wanted."""
    import tensorflow as tf

    if not hardware.gpus:
        return 0
    present = len(tf.config.list_physical_devices("GPU"))
    if not present:
        raise InputError(
            f"{hardware.gpus} GPUs are wanted, TensorFlow sees none here; where nvidia-smi shows"
            " some, pip install 'tensorflow[and-cuda]'"
        )
    return present


def _target(hardware: Hardware) -> str:
    """Become the cluster's master, on which nothing is placed."""
    import tensorflow as tf

    jobs = {"worker": list(hardware.workers), "client": [hardware.address]}
    settings = tf.compat.v1.ConfigProto(device_count={"GPU": 0})
    server = tf.distribute.Server(jobs, job_name="client", task_index=0, config=settings)
    _KEPT.append(server)
    return str(server.target)


_KEPT: list[object] = []
"""Servers live as long as the process."""


def _run(request: Request, target: str, settings: tf.compat.v1.ConfigProto, send: Send) -> Done:
    import tensorflow as tf

    step, timing = placed(request), request.timing
    fetches = [step.outputs, step.targets]
    with tf.compat.v1.Session(target, graph=step.graph, config=settings) as session:
        if step.initialise:
            session.run(step.initialise)
        times, outputs = [], []
        for number in range(timing.steps):
            start = time.perf_counter()
            scalars, _ = session.run(fetches)
            times.append(time.perf_counter() - start)
            outputs.append(tuple(float(value) for value in scalars))
            if number == 0:  # TensorFlow partitions the graph in the first step
                send(Started())
        statistics = [_statistics(session, fetches) for _ in range(timing.traced)]
    traces = tuple(trace_of(one, request.device_names) for one in statistics)
    return Done(tuple(times), tuple(outputs), *peaks(request, step.graph, statistics), traces)


def _statistics(session: tf.compat.v1.Session, fetches: object) -> StepStats:
    import tensorflow as tf

    options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    metadata = tf.compat.v1.RunMetadata()
    session.run(fetches, options=options, run_metadata=metadata)
    step_stats: StepStats = metadata.step_stats
    return step_stats
