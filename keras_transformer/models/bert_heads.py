"""BERT with a head for what it is fine-tuned for: the four of Figure 4.

Each is the encoder and one projection, of the pooled vector or of each token's, with dropout before
it where labels are found. They are numbered from 1, as tokens are, so that 0 can stand for nothing.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.config.bert import BertConfig
from keras_transformer.layers.initializers import begin_truncated_normal
from keras_transformer.layers.rows import on_rows
from keras_transformer.layers.serialization import register
from keras_transformer.models.bert import Bert
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.models.token_weights import class_logits
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import PAD_ID


class BertWithHead(TokenNormalizedModel):
    """BERT and one projection; a subclass says of what.

    All variables exist from construction on.

    Args:
        config: `BertConfig`.
        outputs: Width of the projection.
        **kwargs: Of `keras.Model`; `dtype` takes a policy such as "mixed_bfloat16".

    Call arguments:
        inputs: Those of `Bert`.
        training: Whether dropout is active.

    Attributes:
        bert: The encoder, whose weights another model's may take the place of.
        pools: Whether the head reads the pooled vector; if not, what makes it does not learn.
    """

    pools = True

    def __init__(self, config: BertConfig | Mapping[str, Any], outputs: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config, self.outputs = BertConfig.of(config), outputs
        part = {"dtype": self.dtype_policy}
        self.bert = Bert(self.config, name="bert", **part)
        self.bert.pooler.trainable = self.pools
        self.dropout = keras.layers.Dropout(self.config.dropout, name="dropout", **part)
        self.head = keras.layers.Dense(outputs, name="head", **part)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Creates all variables; their shapes follow from the configuration alone."""
        self.head.build((None, self.config.d_model))
        begin_truncated_normal(self.head.weights, self.config.initial_stddev)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        config = dataclasses.asdict(self.config)
        return {**super().get_config(), "config": config, "outputs": self.outputs}


@register
class TextClassifier(BertWithHead):
    """Tells the label of a text, or of a pair: Figure 4, (a) and (b).

    Args:
        config: `BertConfig`.
        outputs: Number of labels.
        **kwargs: Of `keras.Model`.

    Call arguments:
        inputs: Those of `Bert`.

    Returns:
        float32 logits `[batch, 1, 1 + outputs]`, the first of which counts for nothing.

    Example:
        >>> model = TextClassifier(BertConfig.preset("bert_tiny", vocab_size=1000), outputs=3)
        >>> tuple(model({"ids": np.array([[2, 5, 3]])}).shape)
        (1, 1, 4)

    Reference:
        arXiv 1810.04805, Figure 4 (a) and (b).
    """

    def call(self, inputs: Mapping[str, Tensor], training: bool | None = None) -> Tensor:
        pooled = self.bert(inputs, training=training)["pooled"]
        logits = self.head(self.dropout(pooled, training=training))
        return class_logits(ops.expand_dims(logits, 1))


@register
class TextRegressor(BertWithHead):
    """Gives a number for a text, or for a pair, as STS-B asks for.

    Args:
        config: `BertConfig`.
        outputs: Numbers for each.
        **kwargs: Of `keras.Model`.

    Call arguments:
        inputs: Those of `Bert`.

    Returns:
        float32 `[batch, outputs]`.

    Example:
        >>> model = TextRegressor(BertConfig.preset("bert_tiny", vocab_size=1000), outputs=1)
        >>> tuple(model({"ids": np.array([[2, 5, 3]])}).shape)
        (1, 1)
    """

    def call(self, inputs: Mapping[str, Tensor], training: bool | None = None) -> Tensor:
        pooled = self.bert(inputs, training=training)["pooled"]
        return ops.cast(self.head(self.dropout(pooled, training=training)), "float32")


@register
class SpanFinder(BertWithHead):
    """Tells where an answer begins and ends: Figure 4, (c).

    Args:
        config: `BertConfig`.
        outputs: 2, a beginning and an end.
        **kwargs: Of `keras.Model`.

    Call arguments:
        inputs: Those of `Bert`, the question first and the text second.

    Returns:
        float32 logits `[batch, 2, 1 + length]`: of nothing, then of each place, of which those of
        padding count for nothing.

    Example:
        >>> model = SpanFinder(BertConfig.preset("bert_tiny", vocab_size=1000))
        >>> tuple(model({"ids": np.array([[2, 5, 3, 6, 3]])}).shape)
        (1, 2, 6)

    Reference:
        arXiv 1810.04805, Figure 4 (c).
    """

    pools = False

    def __init__(
        self, config: BertConfig | Mapping[str, Any], outputs: int = 2, **kwargs: Any
    ) -> None:
        super().__init__(config, outputs, **kwargs)

    def call(self, inputs: Mapping[str, Tensor], training: bool | None = None) -> Tensor:
        tokens = self.bert(inputs, training=training)["tokens"]
        logits = ops.transpose(ops.cast(on_rows(self.head, tokens), "float32"), (0, 2, 1))
        is_token = ops.expand_dims(ops.not_equal(inputs["ids"], PAD_ID), 1)
        return class_logits(ops.where(is_token, logits, float(np.finfo(np.float32).min)))


@register
class TokenTagger(BertWithHead):
    """Tells the tag of each token: Figure 4, (d).

    Args:
        config: `BertConfig`.
        outputs: Number of tags.
        **kwargs: Of `keras.Model`.

    Call arguments:
        inputs: Those of `Bert`.

    Returns:
        float32 logits `[batch, length, 1 + outputs]`, the first of which counts for nothing.

    Example:
        >>> model = TokenTagger(BertConfig.preset("bert_tiny", vocab_size=1000), outputs=7)
        >>> tuple(model({"ids": np.array([[2, 5, 3]])}).shape)
        (1, 3, 8)

    Reference:
        arXiv 1810.04805, Figure 4 (d).
    """

    pools = False

    def call(self, inputs: Mapping[str, Tensor], training: bool | None = None) -> Tensor:
        tokens = self.bert(inputs, training=training)["tokens"]
        return class_logits(on_rows(self.head, self.dropout(tokens, training=training)))
