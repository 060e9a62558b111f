"""The compiled simulator: docs/simulator.md over flat arrays, the same bits as reference.py.

``judge`` holds the class Simulator, ``layout`` flattens a problem, ``state`` is what changes during
a step, ``kernel`` runs the step; the other modules are the rules, inlined into the kernel.
"""
