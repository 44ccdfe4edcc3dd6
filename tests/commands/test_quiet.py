"""What TensorFlow prints when it starts is held back, and nothing else."""

import os
import sys

import pytest

from keras_transformer.commands.quiet import load_tensorflow, without_start_up_lines

NOISE = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795939595.170839    2032 port.cc:153] oneDNN custom operations are on. You may see
I0000 00:00:1795939595.171224    2032 cudart_stub.cc:31] Could not find cuda drivers.
I0000 00:00:1795939780.593099    2479 cpu_feature_guard.cc:227] This TensorFlow binary is optimized
To enable the following instructions: AVX2 AVX512F FMA, in other operations, rebuild TensorFlow.
E0000 00:00:1795939780.593099    2479 cuda_dnn.cc:8579] Unable to register cuDNN factory
W0000 00:00:1795939780.593099    2479 computation_placer.cc:177] already registered
W0000 00:00:1795939780.593099    2479 gpu_device.cc:2342] Cannot dlopen some GPU libraries.
Skipping registering GPU devices...
INFO: Created TensorFlow Lite XNNPACK delegate for CPU.
"""
OTHER = b"""\
E0000 00:00:1795939780.593099    2479 cuda_executor.cc:12] out of memory
W0000 00:00:1795939780.593099    2479 something_new.cc:1] what nobody knows
a warning of Python's
"""


@pytest.fixture(autouse=True)
def _no_level(monkeypatch):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)


def test_start_up_lines_are_left_out(capfd):
    with without_start_up_lines():
        os.write(2, NOISE)
        assert capfd.readouterr().err == ""
    os.write(2, b"afterwards")
    assert capfd.readouterr().err == "afterwards"


def test_all_else_is_printed(capfd):
    with without_start_up_lines():
        for noise, other in zip(NOISE.split(b"\n", 3)[:3], OTHER.splitlines(), strict=True):
            os.write(2, noise + b"\n" + other + b"\n")
    assert capfd.readouterr().err == OTHER.decode()


def test_after_an_error_everything_is_printed(capfd):
    @without_start_up_lines()
    def fail():
        os.write(2, NOISE)
        raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert capfd.readouterr().err == NOISE.decode()
    os.write(2, b"afterwards")
    assert capfd.readouterr().err == "afterwards"


def test_the_user_may_ask_for_it(capfd, monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    with without_start_up_lines():
        os.write(2, NOISE)
    assert capfd.readouterr().err == NOISE.decode()


def test_without_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with without_start_up_lines():
        pass


def test_where_tensorflow_is_loaded_nothing_happens():
    load_tensorflow()
    assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ


BROKEN = """
import os, sys
os.environ.pop("TF_CPP_MIN_LOG_LEVEL", None)
with open(sys.argv[1] + "/tensorflow.py", "w") as file:
    file.write("import os; os.write(2, b'I0000 why\\\\n'); {end}")
sys.path.insert(0, sys.argv[1])
sys.stderr.flush()
os.dup2(1, 2)
from keras_transformer.commands.quiet import load_tensorflow
try:
    load_tensorflow()
finally:
    os.write(1, b"ended\\n")
    os._exit(0)
"""


def test_an_import_that_fails(fresh_process, tmp_path):
    output = fresh_process(BROKEN.replace("{end}", "import nothing"), tmp_path)
    assert output == "I0000 why\nended\n"
    output = fresh_process(BROKEN.replace("{end}", "pass"), tmp_path)
    assert output == "ended\n"
