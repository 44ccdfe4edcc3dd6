"""Export to a `MarianMTModel` of Hugging Face's transformers: weights, configuration, tokenizers.

The paper's sinusoids have each sine beside its cosine, Hugging Face's all sines first, so the
model's width is written in that order. `keras-transformer import` reads the folder and finds the
very model again.
"""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformer.config import TransformerConfig
from keras_transformer.export.metadata import write_metadata
from keras_transformer.export.one_transformer import one_transformer
from keras_transformer.export.versions import version_path
from keras_transformer.extras import needed
from keras_transformer.files import atomic_directory
from keras_transformer.importing.huggingface import (
    ACTIVATIONS,
    EMBEDDINGS,
    NORMS,
    OWN_CONFIG,
    PARTS,
)
from keras_transformer.importing.tensors import Floats
from keras_transformer.importing.weights import (
    STACKS,
    norms,
    projections,
    reordered,
    sines_before_cosines,
)
from keras_transformer.models.transformer import Transformer
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from keras_transformer.translation.translator import Translator


def export_huggingface(
    translator: Translator,
    directory: str | os.PathLike[str],
    version: int | None = None,
    quantization: str | None = None,
) -> Path:
    """Writes a `MarianMTModel` to `directory/<version>/`, or nothing.

    transformers adds 1e-5 to the variance in layer normalization, whatever the model had; with the
    1e-6 of most runs, logits differ in the fifth digit. Of the options of the search, those that
    `generate` has go with it; `length_penalty` is the exponent of the length alone there.

    Args:
        translator: What to export.
        directory: Folder of the versions.
        version: Number of this version; None for the next free one.
        quantization: None; weights are float32.

    Returns:
        The folder of this version. It holds what `MarianMTModel.from_pretrained` and
        `MarianTokenizer.from_pretrained` load, and `metadata.json`.

    Raises:
        FileExistsError: If the version exists.
        ImportError: If safetensors is not installed.
        ValueError: If Marian has no such model, the message says why; or if `directory` holds
            versions of another format.

    Example:
        >>> path = export_huggingface(translator, "exports/hub")
        >>> (path / "model.safetensors").is_file()
        True
    """
    if quantization is not None:
        raise ValueError(
            f"`quantization` must be None for Hugging Face. Received: {quantization!r}"
        )
    model = _model_of(translator)
    with needed("Export to Hugging Face", "safetensors", "huggingface"):
        from safetensors.numpy import save_file
    path = version_path(directory, version, "huggingface")
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    with atomic_directory(path) as folder:
        save_file(marian_weights(model), folder / "model.safetensors", {"format": "pt"})
        _write_json(folder / "config.json", _options_of(model))
        _write_json(folder / "generation_config.json", _generation_options(translator))
        _write_tokenizers(folder, tokenizers, translator, model.config)
        write_metadata(folder, translator, "huggingface", quantization="float32")
    return path


def _model_of(translator: Translator) -> Transformer:
    """Returns the model if Marian has such a one."""
    model = one_transformer(translator, "Hugging Face", "A MarianMTModel is a Transformer")
    config, width = model.config, model.config.d_model // model.config.num_heads
    for name, expected, fits in (
        ("norm_first", "False", not config.norm_first),
        ("positions", "sinusoidal or sinusoidal_halves", config.positions in _POSITIONS),
        ("key_dim", "None", config.head_key_dim == width),
        ("value_dim", "None", config.head_value_dim == width),
        ("activation", "one of " + ", ".join(ACTIVATIONS), config.activation in ACTIVATIONS),
        ("embedding_norm", "False", not config.embedding_norm),
        ("attention_score", "scaled_dot", config.attention_score == "scaled_dot"),
        ("window", "None", config.window is None),
    ):
        if not fits:
            raise ValueError(
                f"A MarianMTModel has no other `{name}` than {expected}; export to another format. "
                f"Received: {name}={getattr(config, name)!r}"
            )
    return model


_POSITIONS = ("sinusoidal", "sinusoidal_halves")


def marian_weights(model: Transformer) -> dict[str, Floats]:
    """Returns a model's weights as transformers calls and orders them.

    Args:
        model: One that Marian has.

    Returns:
        Arrays by the names in the `state_dict` of a `MarianMTModel`; what is tied is there once.

    Example:
        >>> marian_weights(model)["final_logits_bias"].shape
        (1, 40)
    """
    config = model.config
    order = np.arange(config.d_model)
    if config.positions == "sinusoidal":
        order = sines_before_cosines(config.d_model)
    weights = _embeddings(model, order)
    for stack in STACKS:
        for i, layer in enumerate(getattr(model, stack).layers):
            place = f"model.{stack}.layers.{i}"
            for dense, parts in projections(layer):
                for part, kernel, bias in zip(parts, *_split(dense, len(parts)), strict=True):
                    kernel, bias = reordered(part, kernel, bias, order)
                    # PyTorch has an output a row.
                    weights[f"{place}.{PARTS[part]}.weight"] = kernel.T
                    weights[f"{place}.{PARTS[part]}.bias"] = bias
            for norm, part in norms(layer):
                weights[f"{place}.{NORMS[part]}.weight"] = _array(norm.gamma)[order]
                weights[f"{place}.{NORMS[part]}.bias"] = _array(norm.beta)[order]
    # safetensors writes arrays as they lie in memory.
    return {name: np.ascontiguousarray(value) for name, value in weights.items()}


def _split(dense: keras.layers.Dense, parts: int) -> tuple[list[Floats], list[Floats]]:
    """Returns the kernels and the biases of projections that are one matrix here."""
    kernel = _array(dense.kernel)
    bias = _array(dense.bias) if dense.use_bias else np.zeros(kernel.shape[1], np.float32)
    return np.split(kernel, parts, axis=1), np.split(bias, parts)


def _embeddings(model: Transformer, order: np.ndarray) -> dict[str, Floats]:
    config = model.config
    target = _array(model.target_embedding.embeddings)[:, order]
    logits = _array(model.output_embedding.embeddings)[:, order]
    if config.zero_start:
        target[BOS_ID] = 0.0
    bias = np.zeros(config.vocab_size, np.float32)
    if config.output_bias:
        bias = _array(model.output_embedding.bias)
    weights = {"final_logits_bias": bias[np.newaxis]}
    untied = not config.tie_embeddings or _needs_own_logits(model)
    if config.one_embedding and not untied:
        return {**weights, "model.shared.weight": target}
    weights[EMBEDDINGS["target"]] = target
    weights[EMBEDDINGS["source"]] = _array(model.source_embedding.embeddings)[:, order]
    if untied:
        weights["lm_head.weight"] = logits
    return weights


def _needs_own_logits(model: Transformer) -> bool:
    """Whether zeros for the decoder to begin with would change a matrix that is tied.

    Marian and Hugging Face have them in the row of the matrix, which gives the logit of bos too;
    here that row is free, and training changes it.
    """
    config = model.config
    row = _array(model.target_embedding.embeddings)[BOS_ID]
    return config.zero_start and config.tie_embeddings and bool(row.any())


def _options_of(model: Transformer) -> dict[str, Any]:
    options = marian_options(model.config)
    if _needs_own_logits(model):
        untied = dict.fromkeys(("tie_word_embeddings", "share_encoder_decoder_embeddings"), False)
        return {**options, **untied}
    return options


def marian_options(config: TransformerConfig) -> dict[str, Any]:
    """Returns the fields of the `MarianConfig` of a model.

    Args:
        config: The model's, of one that Marian has.

    Example:
        >>> marian_options(TransformerConfig())["encoder_layers"]
        6
    """
    sizes = {
        f"{stack}_{name}": value
        for stack, layers in zip(STACKS, (config.num_layers, config.decoder_layers), strict=True)
        for name, value in (
            ("layers", layers),
            ("ffn_dim", config.d_ff),
            ("attention_heads", config.num_heads),
        )
    }
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": config.source_vocab_size or config.vocab_size,
        "decoder_vocab_size": config.vocab_size,
        "d_model": config.d_model,
        **sizes,
        "activation_function": ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "max_position_embeddings": config.max_length,
        "scale_embedding": config.scale_embeddings,
        # transformers shares two only with the third.
        "share_encoder_decoder_embeddings": config.one_embedding and config.tie_embeddings,
        "tie_word_embeddings": config.tie_embeddings,
        "pad_token_id": PAD_ID,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "decoder_start_token_id": BOS_ID,
        "forced_eos_token_id": None,
        OWN_CONFIG: dataclasses.asdict(config),
    }


def _generation_options(translator: Translator) -> dict[str, Any]:
    """Returns the options of the search that `generate` has; the start counts as a token there."""
    config = translator.config
    ids = translator.target_tokenizer.ids
    banned = [PAD_ID, BOS_ID, *(ids[piece] for piece in config.banned_pieces)]
    # Sampling takes no beam here, and there one that it draws into.
    sampling = {"do_sample": True, "num_beams": 1}
    sampling |= {name: getattr(config, name) for name in ("temperature", "top_k", "top_p")}
    return {
        "num_beams": config.beam_size,
        **(sampling if config.sampling else {}),
        "length_penalty": config.length_penalty,
        "early_stopping": config.early_stopping or "never",
        "max_length": translator.graph.max_length + 1,
        "min_new_tokens": config.min_length,
        "no_repeat_ngram_size": config.no_repeat_ngram,
        "bad_words_ids": [[i] for i in banned],
        "pad_token_id": PAD_ID,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "decoder_start_token_id": BOS_ID,
    }


def _write_tokenizers(
    folder: Path,
    tokenizers: Sequence[SubwordTokenizer],
    translator: Translator,
    config: TransformerConfig,
) -> None:
    names, separate = ["vocab.json", "target_vocab.json"], config.source_vocab_size is not None
    for tokenizer, name in zip(tokenizers, names[: 1 + separate], strict=False):
        _write_json(folder / name, tokenizer.ids)
    for tokenizer, side in zip(tokenizers, ("source", "target"), strict=True):
        (folder / f"{side}.spm").write_bytes(tokenizer.segmentation or tokenizer.model)
    pieces, languages = tokenizers[1].pieces, translator.origin.get("languages", {})
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": languages.get("source"),
            "target_lang": languages.get("target"),
            "separate_vocabs": separate,
            "model_max_length": config.max_length,
            "pad_token": pieces[PAD_ID],
            "unk_token": pieces[UNK_ID],
            "eos_token": pieces[EOS_ID],
        },
    )


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), "utf-8")


def _array(variable: keras.Variable) -> Floats:
    return np.array(variable, np.float32)
