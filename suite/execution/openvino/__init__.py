"""Placed inferences, run by OpenVINO."""
