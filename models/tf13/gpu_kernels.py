"""Ask TensorFlow 1.3.0 which operations have a GPU kernel: writes graphs/gpu_kernels.pbtxt.xz.

    python3.6 -m pip install --no-deps --target WHEEL tensorflow-gpu==1.3.0
    python3.6 gpu_kernels.py WHEEL

The kernels are those that the library of the GPU package registers when it is loaded. It wants
CUDA's libraries for that, but calls nothing in them: empty ones do, so that no GPU is needed. Needs
gcc, g++ and nm.
"""

import ctypes
import lzma
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = "tensorflow/python/_pywrap_tensorflow_internal.so"
CUDA = r"libcu\w+\.so[.\d]*"
FUNCTION = r"(?:__cuda|cuda|cublas|cudnn|cufft|curand|cusolver|cu(?=[A-Z]))\w+"


def output(*command):
    """What a command prints."""
    return subprocess.check_output(command, universal_newlines=True)


def empty_cuda(library, folder):
    """Write libraries of the names and with the functions that ``library`` wants of CUDA."""
    wanted = sorted(set(re.findall(r"NEEDED\s+(%s)" % CUDA, output("objdump", "-p", library))))
    undefined = output("nm", "-D", "--undefined-only", library)
    functions = sorted(set(re.findall(r"\bU (%s)" % FUNCTION, undefined)))
    source = os.path.join(folder, "empty.c")
    with open(source, "w") as file:
        file.writelines("void *%s(void) { return 0; }\n" % name for name in functions)
    for name in wanted:
        target = os.path.join(folder, name)
        subprocess.check_call(
            ["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname," + name, source, "-o", target]
        )
        ctypes.CDLL(target, mode=ctypes.RTLD_GLOBAL)


def gpu_kernels(packages):
    """The GPU kernels of the TensorFlow in a folder of packages: a KernelList as text."""
    library = os.path.join(packages, LIBRARY)
    headers = os.path.join(packages, "tensorflow", "include")
    with tempfile.TemporaryDirectory() as folder:
        empty_cuda(library, folder)
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        question = os.path.join(folder, "gpu_kernels.so")
        subprocess.check_call(
            ["g++", "-std=c++11", "-shared", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0"]
            + ["-I" + headers, "-I" + os.path.join(headers, "external/protobuf/src")]
            + [os.path.join(HERE, "gpu_kernels.cc"), "-o", question]
        )
        ask = ctypes.CDLL(question).gpu_kernels
    ask.restype = ctypes.c_char_p
    return ask()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with lzma.open(os.path.join(HERE, "graphs", "gpu_kernels.pbtxt.xz"), "wb") as file:
        file.write(gpu_kernels(sys.argv[1]))
