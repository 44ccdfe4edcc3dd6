"""BERT with the two heads that it is pre-trained with: masked words and next sentences."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformer.config.bert import BertConfig
from keras_transformer.layers import MaskedWordHead
from keras_transformer.layers.initializers import begin_truncated_normal
from keras_transformer.layers.rows import rows_at
from keras_transformer.layers.serialization import register
from keras_transformer.models.bert import Bert
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.models.token_weights import class_logits
from keras_transformer.tensors import Tensor


@register
class MaskedLanguageModel(TokenNormalizedModel):
    """Predicts the words at masked places, and whether the second text followed the first.

    Args:
        config: `BertConfig`.
        next_sentence: Whether there is the second head.
        **kwargs: Of `keras.Model`; `dtype` takes a policy such as "mixed_bfloat16".

    Call arguments:
        inputs: Those of `Bert`, and "places", int `[batch, places]`, the positions whose words are
            to be predicted; without them all are. Filled up with 0 where a text has fewer.
        training: Whether dropout is active.

    Returns:
        A dict of "masked", float32 logits `[batch, places, vocab_size]`, and with `next_sentence`
        of "next", float32 logits `[batch, 1, 3]`. Like all labels, those of "next" have 0 for
        nothing: 1 says that the second text follows the first, and 2 that it is another one. So
        the first logit is one that never counts.

    Example:
        >>> model = MaskedLanguageModel(BertConfig.preset("bert_tiny", vocab_size=1000))
        >>> outputs = model({"ids": np.array([[2, 4, 6, 3]]), "places": np.array([[1]])})
        >>> tuple(outputs["masked"].shape), tuple(outputs["next"].shape)
        ((1, 1, 1000), (1, 1, 3))

    Reference:
        arXiv 1810.04805, "Pre-training BERT" and Appendix A.
    """

    def __init__(
        self, config: BertConfig | Mapping[str, Any], next_sentence: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.config = BertConfig.of(config)
        part = {"dtype": self.dtype_policy}
        self.bert = Bert(self.config, name="bert", **part)
        self.masked_words = MaskedWordHead(
            self.config.activation, self.config.norm_epsilon, name="masked_words", **part
        )
        self.next_sentence: keras.layers.Dense | None = None
        if next_sentence:
            self.next_sentence = keras.layers.Dense(2, name="next_sentence", **part)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Creates all variables; their shapes follow from the configuration alone."""
        d_model = self.config.d_model
        self.masked_words.build((None, None, d_model), (d_model, self.config.vocab_size))
        heads: list[keras.layers.Layer] = [self.masked_words]
        if self.next_sentence is not None:
            self.next_sentence.build((None, d_model))
            heads.append(self.next_sentence)
        for head in heads:
            begin_truncated_normal(head.weights, self.config.initial_stddev)
        self.built = True

    def call(self, inputs: Mapping[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        outputs = self.bert(inputs, training=training)
        vectors, kernel = outputs["tokens"], self.bert.token_embedding.output_kernel()
        if "places" in inputs:
            vectors = rows_at(vectors, inputs["places"])
        logits = {"masked": self.masked_words(vectors, kernel)}
        if self.next_sentence is not None:
            is_next = self.next_sentence(outputs["pooled"])
            logits["next"] = class_logits(ops.expand_dims(is_next, 1))
        return logits

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "config": dataclasses.asdict(self.config),
            "next_sentence": self.next_sentence is not None,
        }
