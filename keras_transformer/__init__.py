"""The Transformer of "Attention Is All You Need" for translation, on Keras 3.

Keras takes seconds to load, which a command's `--help` need not wait for. So names are loaded at
once where Keras is loaded already, and when they are first used where it is not.
"""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

# Keras finds the classes of a saved model among those that are loaded.
if TYPE_CHECKING or "keras" in sys.modules:
    from keras_transformer.config import (
        BERT_PRESETS,
        PRESETS,
        RECURRENT_PRESETS,
        TRAINING_PRESETS,
        BertConfig,
        DataConfig,
        DecodingConfig,
        DocumentsConfig,
        MaskedLMConfig,
        PiecesConfig,
        RecurrentConfig,
        RunConfig,
        TokenizerConfig,
        TrainingConfig,
        TransformerConfig,
        ValidationConfig,
    )
    from keras_transformer.models import (
        Bert,
        MaskedLanguageModel,
        RecurrentEncoderDecoder,
        Transformer,
    )
    from keras_transformer.training import (
        FusedAdam,
        LabelSmoothedCrossEntropy,
        Perplexity,
        TokenAccuracy,
        TransformerSchedule,
        compile_model,
    )

__version__ = "0.1.0"

__all__ = [
    "BERT_PRESETS",
    "PRESETS",
    "RECURRENT_PRESETS",
    "TRAINING_PRESETS",
    "Bert",
    "BertConfig",
    "DataConfig",
    "DecodingConfig",
    "DocumentsConfig",
    "FusedAdam",
    "LabelSmoothedCrossEntropy",
    "MaskedLMConfig",
    "MaskedLanguageModel",
    "Perplexity",
    "PiecesConfig",
    "RecurrentConfig",
    "RecurrentEncoderDecoder",
    "RunConfig",
    "TokenAccuracy",
    "TokenizerConfig",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "TransformerSchedule",
    "ValidationConfig",
    "compile_model",
]


def __getattr__(name: str) -> Any:
    """Loads a name of `__all__`, or a package, when it is first asked for."""
    if name in __all__:
        for home in ("config", "models", "training"):
            package = importlib.import_module(f"{__name__}.{home}")
            if hasattr(package, name):
                globals()[name] = getattr(package, name)
                return globals()[name]
    if not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
