"""Who starts a measured step does not decide how many threads it gets."""

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
