"""KerasHub's presets of BERT, by name or in a folder, read by KerasHub itself.

Their parts have other names, and projections an axis for heads; in Hugging Face's names and shapes
they are a checkpoint like others. KerasHub computes GELU by its approximation.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import BertConfig
from keras_transformer.importing.bert import BertCheckpoint, HuggingFaceBert, checked
from keras_transformer.importing.tensors import Floats, Tensors
from keras_transformer.text.wordpiece import WordPieceTokenizer

# What stands before the name of a preset.
PREFIX = "keras_hub:"
BACKBONE = "BertBackbone"

_EMBEDDINGS = {
    "token_embedding": "word_embeddings",
    "position_embedding": "position_embeddings",
    "segment_embedding": "token_type_embeddings",
}
_LAYER = {
    **{
        f"self_attention_layer/{part}": f"attention.self.{part}"
        for part in ("query", "key", "value")
    },
    "self_attention_layer/attention_output": "attention.output.dense",
    "self_attention_layer_norm": "attention.output.LayerNorm",
    "feedforward_intermediate_dense": "intermediate.dense",
    "feedforward_output_dense": "output.dense",
    "feedforward_layer_norm": "output.LayerNorm",
}


def read_keras_hub(preset: str | os.PathLike[str]) -> BertCheckpoint:
    """Reads a preset.

    Args:
        preset: Its name, such as "bert_tiny_en_uncased", which is downloaded unless it was before;
            or its folder.

    Raises:
        ValueError: If there is none of this name, it cannot be read, or is of another model.
    """
    import keras_hub

    name = os.fspath(preset)
    try:
        backbone = keras_hub.models.BertBackbone.from_preset(name)
        tokenizer = keras_hub.models.BertTokenizer.from_preset(name)
    except (OSError, ValueError, KeyError) as error:
        known = ", ".join(keras_hub.models.BertBackbone.presets)
        raise ValueError(
            "`source` must be a BERT of KerasHub's, in a folder or by its name, for which it takes "
            f"a network; there are {known}. Received: {name}, {type(error).__name__}: "
            f"{str(error)[:200]}"
        ) from error
    weights = {weight.path: np.asarray(weight) for weight in backbone.weights}
    arrays = dict(_arrays(weights, backbone.num_layers))
    words = WordPieceTokenizer(tokenizer.get_vocabulary(), tokenizer.lowercase)
    return checked(
        _config(backbone), words, HuggingFaceBert(Tensors(Path(name), arrays, arrays.__getitem__))
    )


def _config(backbone: Any) -> BertConfig:
    return BertConfig(
        vocab_size=backbone.vocabulary_size,
        num_layers=backbone.num_layers,
        d_model=backbone.hidden_dim,
        d_ff=backbone.intermediate_dim,
        num_heads=backbone.num_heads,
        dropout=backbone.dropout,
        attention_dropout=backbone.dropout,
        activation="gelu_tanh",
        max_length=backbone.max_sequence_length,
        num_segments=backbone.num_segments,
    )


def _arrays(weights: dict[str, Floats], layers: int) -> Iterator[tuple[str, Floats]]:
    """Yields the weights in Hugging Face's names and shapes."""
    for theirs, ours in _EMBEDDINGS.items():
        yield f"embeddings.{ours}.weight", weights[f"{theirs}/embeddings"]
    places = {"embeddings_layer_norm": "embeddings.LayerNorm", "pooled_dense": "pooler.dense"}
    for layer in range(layers):
        for theirs, ours in _LAYER.items():
            places[f"transformer_layer_{layer}/{theirs}"] = f"encoder.layer.{layer}.{ours}"
    for theirs, ours in places.items():
        if ours.endswith("LayerNorm"):
            yield f"{ours}.gamma", weights[f"{theirs}/gamma"]
            yield f"{ours}.beta", weights[f"{theirs}/beta"]
            continue
        bias = weights[f"{theirs}/bias"].reshape(-1)
        yield f"{ours}.weight", weights[f"{theirs}/kernel"].reshape(-1, bias.size).T
        yield f"{ours}.bias", bias
