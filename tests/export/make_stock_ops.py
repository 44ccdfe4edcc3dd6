"""Lists the operations that the oldest server for our exports runs: prints `stock_ops.txt`.

A line names an operation and its attributes. Run it by hand, with that server's versions of
TensorFlow and TF Text in an environment of their own:

    python3.11 -m venv stock
    stock/bin/pip install "tensorflow==2.12.*" "tensorflow-text==2.12.*"
    stock/bin/python tests/export/make_stock_ops.py > tests/export/stock_ops.txt
"""

from importlib.metadata import version
from importlib.util import find_spec

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry


def main() -> None:
    """Prints the operations that have a kernel for the CPU."""
    # Of TF Text this library alone: servers have lacked operations of the others.
    [tensorflow_text] = find_spec("tensorflow_text").submodule_search_locations
    tf.load_op_library(f"{tensorflow_text}/python/ops/_sentencepiece_tokenizer.so")
    names = {
        kernel.op
        for kernel in kernels.get_all_registered_kernels().kernel
        if kernel.device_type in ("CPU", "DEFAULT")
    }
    # What the Python package has and a server need not: calls into Python, a compiler.
    names = {name for name in names if "PyFunc" not in name and not name.startswith("Xla")}

    print(f"# Operations and their attributes in TensorFlow {tf.__version__}, with the")
    print(f"# Sentencepiece* of TensorFlow Text {version('tensorflow-text')}. Made by:")
    print("# python tests/export/make_stock_ops.py > tests/export/stock_ops.txt")
    for name in sorted(names):
        print(name, *sorted(attribute.name for attribute in op_def_registry.get(name).attr))


if __name__ == "__main__":
    main()
