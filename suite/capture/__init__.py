"""Models to graphs: everything that loads TensorFlow in order to read a program."""
