"""What a child that measures is started with, and what TensorFlow makes of it."""

from suite.execution.child import Child, Setup, await_all


def test_a_child_does_not_inherit_tensorflows_threads(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "1")
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "1")
    monkeypatch.setenv("KEPT", "yes")
    child = Child("a child", Setup("tell_environment:tell"))
    try:
        [environment] = await_all([child], 60)
    finally:
        child.stop()
    assert environment["KEPT"] == "yes"
    assert not {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"} & set(environment)


def test_a_child_loads_tensorflow_without_keras():
    """Which is a third of its start, and nothing that a server or a driver uses."""
    child = Child("a child", Setup("tell_environment:tell_packages"))
    try:
        [packages] = await_all([child], 60)
    finally:
        child.stop()
    assert "tensorflow" in packages
    assert "keras" not in packages
