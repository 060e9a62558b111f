"""What a child process is started with."""

import os
import sys


def tell(receive, send):
    """Send the variables of the process."""
    send(dict(os.environ))


def tell_packages(receive, send):
    """Send the names of the packages that are loaded once TensorFlow is."""
    import tensorflow  # noqa: F401

    send({name.partition(".")[0] for name in sys.modules})
