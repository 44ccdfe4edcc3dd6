"""What attended to what in one translation: every layer and head that the model has."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.decoding.scoring import shift_right
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.in_batches import encode
from keras_transformer.translation.translator import Translator


class AttentionWeights(NamedTuple):
    """All attention weights of a sentence and its translation.

    Args:
        source: Tokens that the encoder reads, eos included.
        target_inputs: Tokens that the decoder reads: bos, then the translation's.
        target: Tokens that the decoder gives: the translation's, then eos.
        weights: For each of "encoder", "decoder" and "cross" that the model has, float32
            `[layers, heads, queries, keys]`.
    """

    source: list[str]
    target_inputs: list[str]
    target: list[str]
    weights: dict[str, npt.NDArray[np.float32]]

    def tokens(self, part: str) -> tuple[list[str], list[str]]:
        """Returns the tokens that attend, and those that are attended to.

        A query of "cross" is told by the token that the decoder gives there.

        Args:
            part: "encoder", "decoder" or "cross".
        """
        match part:
            case "encoder":
                return self.source, self.source
            case "decoder":
                return self.target_inputs, self.target_inputs
            case _:
                return self.target, self.source


def attention_weights(
    translator: Translator, source: str, translation: str | None = None
) -> AttentionWeights:
    """Gives all attention weights of a sentence and its translation.

    Args:
        translator: A translator of one model.
        source: The sentence.
        translation: A translation; None for the one that the translator finds.

    Raises:
        ValueError: If a side is longer than the model's maximum, or there are several models.

    Example:
        >>> found = attention_weights(translator, "a small dog", "ein kleiner Hund")
        >>> found.source == found.tokens("encoder")[0] == found.tokens("cross")[1]
        True
    """
    if len(translator.models) > 1:
        raise ValueError(
            "`translator` must be one of one model, whose layers are looked at. Received: "
            f"{len(translator.models)} models"
        )
    [model], graph = translator.models, translator.graph
    given = None if translation is None else tf.constant(encode(translation))
    source_ids, target_ids, truncated = graph.pair(tf.constant(encode(source)), given)
    if truncated.numpy().any():
        raise ValueError(
            f"`source` and `translation` must be of at most {graph.max_length} tokens, eos "
            f"included. Received: {source!r}, {translation!r}"
        )
    inputs = {"source": source_ids, "target": shift_right(target_ids)}
    weights: dict[str, Any] = model.attention_weights(inputs)
    return AttentionWeights(
        _pieces(translator.source_tokenizer, source_ids),
        _pieces(translator.target_tokenizer, inputs["target"]),
        _pieces(translator.target_tokenizer, target_ids),
        {
            part: np.stack([np.asarray(layer[0], np.float32) for layer in layers])
            for part, layers in weights.items()
        },
    )


def _pieces(tokenizer: SubwordTokenizer, ids: tf.Tensor) -> list[str]:
    return [piece.decode() for piece in tokenizer.to_pieces(ids)[0].numpy()]
