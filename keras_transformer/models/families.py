"""The table of model families: a line for each, and no other code asks of which one a model is.

A family is a configuration and the model that it describes. `docs/architecture.md`, "Adding a
model", has an example.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras

from keras_transformer.config import (
    BERT_PRESETS,
    PRESETS,
    RECURRENT_PRESETS,
    BertConfig,
    RecurrentConfig,
    TransformerConfig,
)
from keras_transformer.config.model import ModelConfig
from keras_transformer.config.sections import Architecture
from keras_transformer.models.bert import Bert
from keras_transformer.models.recurrent import RecurrentEncoderDecoder
from keras_transformer.models.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Family:
    """A kind of model.

    Args:
        name: What `run.json` calls it.
        config: Its configuration, a frozen dataclass that is a `ModelConfig`; that of an encoder
            with a decoder is a `Seq2SeqConfig`.
        model: The model, a registered `keras.Model` that takes a `config` and a `dtype`. An encoder
            with a decoder is a `Seq2Seq`; on an encoder alone, tasks put heads.
        presets: Fields of the configuration by the name of a preset. No two families have presets
            of one name.
        architecture: What the model is; a task takes those of one kind.
    """

    name: str
    config: type
    model: type[keras.Model]
    presets: Mapping[str, Mapping[str, Any]]
    architecture: Architecture = "encoder_decoder"


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        # A line for each.
        Family("transformer", TransformerConfig, Transformer, PRESETS),
        Family("recurrent", RecurrentConfig, RecurrentEncoderDecoder, RECURRENT_PRESETS),
        Family("bert", BertConfig, Bert, BERT_PRESETS, "encoder"),
    )
}


def family_of(config: ModelConfig) -> Family:
    """Returns the family that a configuration is of.

    Raises:
        ValueError: If no family has such a configuration.

    Example:
        >>> family_of(TransformerConfig()).name
        'transformer'
    """
    for family in FAMILIES.values():
        if type(config) is family.config:
            return family
    raise ValueError(
        "`model` must be the configuration of one of the families "
        f"{', '.join(FAMILIES)}. Received: {type(config).__name__}"
    )


def require_architecture(config: ModelConfig, architecture: Architecture) -> None:
    """Checks that a model is of the kind that a task takes.

    Raises:
        ValueError: If it is of another; the message lists the families that are.

    Example:
        >>> require_architecture(TransformerConfig(), "encoder_decoder")
    """
    family = family_of(config)
    if family.architecture != architecture:
        fitting = [f.name for f in FAMILIES.values() if f.architecture == architecture]
        raise ValueError(
            f"`model` must be an {architecture.replace('_', '-')}, of the families "
            f"{', '.join(fitting)}, for this task; choose another `--preset` or `--task`. "
            f"Received: family {family.name!r}"
        )


def make_model(config: ModelConfig, **kwargs: Any) -> keras.Model:
    """Makes the model that a configuration describes.

    Args:
        config: The configuration of a family.
        **kwargs: Of the model; `dtype` takes a policy such as "mixed_bfloat16".

    Example:
        >>> model = make_model(TransformerConfig.preset("tiny", vocab_size=1000))
    """
    return family_of(config).model(config, **kwargs)


def family_of_preset(name: str) -> Family:
    """Returns the family that has a preset.

    Raises:
        ValueError: If none has; the message lists the presets there are.

    Example:
        >>> family_of_preset("base_h4").name
        'transformer'
    """
    for family in FAMILIES.values():
        if name in family.presets:
            return family
    known = (preset for family in FAMILIES.values() for preset in family.presets)
    raise ValueError(f"`preset` must be one of {', '.join(known)}. Received: {name!r}")
