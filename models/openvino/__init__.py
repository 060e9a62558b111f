"""Networks for inference, written with OpenVINO's operations: neither TensorFlow nor PyTorch."""
