"""Configuration: frozen dataclasses that are the one source of every option, a file a section.

The same classes give the command line, the YAML recipes under `configs/` and the `run.json` that a
run directory keeps. Validation happens on construction, so a value that exists is a value that is
allowed.
"""

from keras_transformer.config.bert import BERT_PRESETS, BertConfig
from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.config.masked_lm import DocumentsConfig, MaskedLMConfig, PiecesConfig
from keras_transformer.config.recurrent import RECURRENT_PRESETS, RecurrentConfig
from keras_transformer.config.run import RunConfig
from keras_transformer.config.sections import RunSections
from keras_transformer.config.tokenizer import TokenizerConfig
from keras_transformer.config.training import (
    TRAINING_PRESETS,
    Precision,
    Schedule,
    Strategy,
    TrainingConfig,
)
from keras_transformer.config.transformer import PRESETS, Positions, TransformerConfig
from keras_transformer.config.validation import ValidationConfig

__all__ = [
    "BERT_PRESETS",
    "PRESETS",
    "RECURRENT_PRESETS",
    "TRAINING_PRESETS",
    "BertConfig",
    "DataConfig",
    "DecodingConfig",
    "DocumentsConfig",
    "MaskedLMConfig",
    "PiecesConfig",
    "Positions",
    "Precision",
    "RecurrentConfig",
    "RunConfig",
    "RunSections",
    "Schedule",
    "Strategy",
    "TokenizerConfig",
    "TrainingConfig",
    "TransformerConfig",
    "ValidationConfig",
]
