"""Real execution: placed graphs run by TensorFlow, in a session or on a cluster of servers.

Only :mod:`suite.execution.driver`, :mod:`suite.execution.server` and what they import load
TensorFlow, in child processes; what starts and hears them does not.
"""
