"""OpenVINO as a second way in: its IR, ONNX and whatever else it converts, to graphs to place."""
