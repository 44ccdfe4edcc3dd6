"""TensorFlow without the lines that it prints when it starts.

They come from C++ before its log has a level, so no setting keeps them back. Standard error is
therefore a file while TensorFlow is imported; what that holds beside those lines is printed then.
"""

import contextlib
import faulthandler
import os
import re
import sys
import tempfile
from collections.abc import Iterator

from keras_transformer.console import write_unbuffered

LEVEL = "TF_CPP_MIN_LOG_LEVEL"

_START_UP = re.compile(
    # Information, with its source and the lines that go on with it.
    rb"I\d{4} [^\n]*\n(?:To enable the following instructions[^\n]*\n)?"
    rb"|WARNING: All log messages before absl::InitializeLog\(\)[^\n]*\n"
    # Libraries of CUDA that are there twice, or of which there are none.
    rb"|[WE]\d{4} [^\n]* (?:cuda_(?:blas|dnn|fft)|computation_placer)\.cc:[^\n]*regist[^\n]*\n"
    rb"|W\d{4} [^\n]* gpu_device\.cc:[^\n]*\n(?:Skipping registering GPU devices[^\n]*\n)?"
    rb"|INFO: Created TensorFlow Lite XNNPACK delegate for CPU\.\n",
)


def load_tensorflow() -> None:
    """Imports TensorFlow, which prints errors alone from then on.

    With `TF_CPP_MIN_LOG_LEVEL` in the environment it prints what that asks for.

    Raises:
        ImportError: If TensorFlow cannot be imported; what it printed is on standard error.

    Example:
        >>> load_tensorflow()
    """
    if "tensorflow" in sys.modules or LEVEL in os.environ:
        return
    os.environ[LEVEL] = "3"
    try:
        with _start_up_lines_held_back():
            import tensorflow  # noqa: F401
    finally:
        # It has been read; a process of its own that follows is not to take it for the user's.
        del os.environ[LEVEL]


@contextlib.contextmanager
def without_start_up_lines() -> Iterator[None]:
    """Holds back what is printed to standard error, and prints in the end what is no start-up line.

    After an error that is everything. With `TF_CPP_MIN_LOG_LEVEL` from the user it does nothing.

    Example:
        >>> with without_start_up_lines():
        ...     import tensorflow
    """
    held_back = contextlib.nullcontext() if LEVEL in os.environ else _start_up_lines_held_back()
    with held_back:
        yield


@contextlib.contextmanager
def _start_up_lines_held_back() -> Iterator[None]:
    if sys.stderr is None:  # The process has none.
        yield
        return
    sys.stderr.flush()
    real = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        failed = True
        try:
            with _crashes_shown(real):
                yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(real, 2)
            os.close(real)
            file.seek(0)
            printed = file.read()
            write_unbuffered(printed if failed else _START_UP.sub(b"", printed))


@contextlib.contextmanager
def _crashes_shown(descriptor: int) -> Iterator[None]:
    """Has Python say where it was if C++ ends the process."""
    if faulthandler.is_enabled():
        yield
        return
    faulthandler.enable(descriptor)
    try:
        yield
    finally:
        faulthandler.disable()
