"""The Transformer of "Attention Is All You Need" for translation, on Keras 3."""

from keras_transformer.config import (
    PRESETS,
    DataConfig,
    DecodingConfig,
    RunConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
)
from keras_transformer.models import Transformer
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
    "PRESETS",
    "DataConfig",
    "DecodingConfig",
    "FusedAdam",
    "LabelSmoothedCrossEntropy",
    "Perplexity",
    "RunConfig",
    "TokenAccuracy",
    "TokenizerConfig",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "TransformerSchedule",
    "compile_model",
]
