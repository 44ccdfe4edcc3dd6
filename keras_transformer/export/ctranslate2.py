"""Export to CTranslate2, the C++ engine for Transformer models.

Written through CTranslate2's public specification classes. The folder holds the SentencePiece
models as well, so that it is of use on its own, with `ctranslate2` and `sentencepiece` alone.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.export.metadata import write_metadata
from keras_transformer.export.one_transformer import one_transformer
from keras_transformer.export.versions import version_path
from keras_transformer.extras import needed
from keras_transformer.files import atomic_directory
from keras_transformer.layers.positional_encoding import sinusoidal_table
from keras_transformer.models import Transformer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, UNK_ID
from keras_transformer.translation.translator import Translator

_ACTIVATIONS = {
    "relu": "RELU",
    "gelu": "GELU",
    "silu": "SWISH",
    "swish": "SWISH",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "quick_gelu": "GELUSigmoid",
}

# CTranslate2 cuts a source here by default, and a translation at 256 tokens; beyond its table of
# positions it stops with an error.
_MAX_LENGTH = 1024


def export_ctranslate2(
    translator: Translator,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
) -> Path:
    """Writes a CTranslate2 model and its tokenizers to `directory/<version>/`, or nothing.

    Such a model has no decoding options of its own; `translate_batch` takes them. Its
    `length_penalty` is alpha of `length_normalization` "length"; with that, or with 0, and
    `min_decoding_length=0`, both search for the same. With learned positions, give it
    `max_input_length` and `max_decoding_length` of at most the model's `max_length`.

    Args:
        translator: What to export.
        directory: Folder of the versions.
        version: Number of this version; None for the next free one.
        quantization: CTranslate2's name of the type that weights are stored in, as "int8" or
            "float16"; None for float32.

    Returns:
        The folder of this version. It holds what `ctranslate2.Translator` loads, `source.model` and
        `target.model` for `sentencepiece`, and `metadata.json`.

    Raises:
        FileExistsError: If the version exists.
        ImportError: If ctranslate2 is not installed.
        ValueError: If CTranslate2 cannot run such a model, the message says why; or if `directory`
            holds versions of another format.

    Example:
        >>> path = export_ctranslate2(translator, "exports/ct2")
        >>> import ctranslate2, sentencepiece
        >>> tokenizer = sentencepiece.SentencePieceProcessor(str(path / "source.model"))
        >>> engine = ctranslate2.Translator(str(path))
        >>> results = engine.translate_batch([tokenizer.encode("a small dog", out_type=str)])
        >>> tokenizer = sentencepiece.SentencePieceProcessor(str(path / "target.model"))
        >>> translation = tokenizer.decode(results[0].hypotheses[0])

    Reference:
        https://opennmt.net/CTranslate2/
    """
    reason = "CTranslate2 runs Transformers alone of the models here"
    model = one_transformer(translator, "CTranslate2", reason)
    path = version_path(directory, version, "ctranslate2")
    specification = _model_specification(model)
    source, target = translator.source_tokenizer, translator.target_tokenizer
    specification.register_source_vocabulary(source.pieces)
    specification.register_target_vocabulary(target.pieces)
    special = [target.pieces[i] for i in (UNK_ID, BOS_ID, EOS_ID)]
    configuration = specification.config
    configuration.unk_token, configuration.bos_token, configuration.eos_token = special
    configuration.decoder_start_token = configuration.bos_token
    configuration.add_source_eos = True
    specification.validate()
    specification.optimize(quantization)
    with atomic_directory(path) as folder:
        specification.save(str(folder))
        source.save(folder / "source.model")
        target.save(folder / "target.model")
        # The options of the search stay behind: the engine takes its own with each call. What a
        # text without a tag means is none of them.
        write_metadata(
            folder,
            translator,
            "ctranslate2",
            quantization=quantization or "float32",
            decoding=None,
            target_language=translator.config.target_language,
        )
    return path


def _model_specification(model: Transformer) -> Any:
    """Fills CTranslate2's specification with a model's weights."""
    specs = _import_specs()
    config = model.config
    _check(config)
    specification = specs.TransformerSpec.from_config(
        (config.num_layers, config.decoder_layers),
        config.num_heads,
        pre_norm=config.norm_first,
        layernorm_embedding=config.embedding_norm,
        activation=getattr(specs.common_spec.Activation, _ACTIVATIONS[config.activation]),
    )
    norm = model.encoder.layers[0].feed_forward_residual.norm
    specification.config.layer_norm_epsilon = norm.epsilon
    encoder, decoder = specification.encoder, specification.decoder
    _set_embedding(encoder.embeddings[0], encoder, model.source_embedding, model.source_sum)
    _set_embedding(decoder.embeddings, decoder, model.target_embedding, model.target_sum)
    decoder.start_from_zero_embedding = config.zero_start
    decoder.projection.weight = _array(model.output_embedding.embeddings)
    if config.output_bias:
        decoder.projection.bias = _array(model.output_embedding.bias)
    for part, stack in ((encoder, model.encoder), (decoder, model.decoder)):
        for layer_specification, layer in zip(part.layer, stack.layers, strict=True):
            _set_layer(layer_specification, layer)
        if config.norm_first:
            _set_norm(part.layer_norm, stack.final_norm)
    return specification


def _import_specs() -> Any:
    with needed("Export to CTranslate2", "ctranslate2", "ctranslate2"):
        from ctranslate2 import specs
    return specs


def _check(config: Any) -> None:
    width = config.d_model // config.num_heads
    if (config.head_key_dim, config.head_value_dim) != (width, width):
        raise ValueError(
            "CTranslate2 has heads of width d_model / num_heads only; train with `key_dim` and "
            f"`value_dim` None to export there. Received: key_dim={config.key_dim}, "
            f"value_dim={config.value_dim}"
        )
    if config.attention_score != "scaled_dot":
        raise ValueError(
            "CTranslate2 has scaled dot-product attention only; train with `attention_score` "
            '"scaled_dot" to export there, or export to another format. Received: '
            f"attention_score={config.attention_score!r}"
        )
    if config.window is not None:
        raise ValueError(
            "CTranslate2 has no restricted self-attention in its encoder; train with `window` None "
            f"to export there, or export to another format. Received: window={config.window}"
        )
    if config.activation not in _ACTIVATIONS:
        raise ValueError(
            f"CTranslate2 has the activations {', '.join(_ACTIVATIONS)}. Received: "
            f"activation={config.activation!r}"
        )


def _set_embedding(embeddings: Any, part: Any, embedding: Any, embedding_sum: Any) -> None:
    embeddings.weight = _array(embedding.embeddings)
    part.scale_embeddings = embedding.scale
    if embedding_sum.norm is not None:
        _set_norm(part.layernorm_embedding, embedding_sum.norm)
    length = max(embedding_sum.max_length, _MAX_LENGTH)
    if embedding_sum.positions == "none":
        table = np.zeros((length, embedding.d_model), np.float32)
    elif embedding_sum.positions == "learned":
        table = _array(embedding_sum.encoding.table)
    else:
        table = sinusoidal_table(length, embedding.d_model, embedding_sum.positions)
    part.position_encodings.encodings = table


def _set_layer(specification: Any, layer: Any) -> None:
    attention = specification.self_attention
    _set_linear(attention.linear[0], layer.self_attention.query_key_value)
    _set_linear(attention.linear[1], layer.self_attention.output_projection)
    _set_norm(attention.layer_norm, layer.self_attention_residual.norm)
    if hasattr(layer, "cross_attention"):
        attention = specification.attention
        _set_linear(attention.linear[0], layer.cross_attention.query)
        _set_linear(attention.linear[1], layer.cross_attention.key_value)
        _set_linear(attention.linear[2], layer.cross_attention.output_projection)
        _set_norm(attention.layer_norm, layer.cross_attention_residual.norm)
    _set_linear(specification.ffn.linear_0, layer.feed_forward.inner)
    _set_linear(specification.ffn.linear_1, layer.feed_forward.outer)
    _set_norm(specification.ffn.layer_norm, layer.feed_forward_residual.norm)


def _set_linear(specification: Any, dense: Any) -> None:
    # CTranslate2 stores one row an output.
    specification.weight = np.ascontiguousarray(_array(dense.kernel).T)
    if dense.use_bias:
        specification.bias = _array(dense.bias)


def _set_norm(specification: Any, norm: Any) -> None:
    specification.gamma = _array(norm.gamma)
    specification.beta = _array(norm.beta)


def _array(variable: Any) -> np.ndarray:
    return np.asarray(variable, np.float32)
