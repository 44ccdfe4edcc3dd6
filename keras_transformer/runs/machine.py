"""What results depend on besides the code: versions and machine."""

import importlib.metadata
import os
import platform
from pathlib import Path

_PACKAGES = (
    "keras_transformer",
    "keras",
    "tensorflow",
    "tensorflow-text",
    "sentencepiece",
    "numpy",
)


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that results depend on."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages}


def machine() -> str:
    """Returns the platform and the processor, in words."""
    return f"{platform.platform()}, {_processor()}, {os.cpu_count()} CPUs"


def _processor() -> str:
    """Linux does not tell Python the model of its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
