"""BERT: the paper's encoder alone, which reads a text in both directions.

Token, segment and position embeddings, normalized after their sum; the encoder's layers; and a
pooled vector of the first token for what is asked of a text as a whole. Heads stand elsewhere.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformer.config.bert import BertConfig
from keras_transformer.layers import Encoder, PaddingMask, PositionalSum, TokenEmbedding
from keras_transformer.layers.initializers import begin_truncated_normal
from keras_transformer.layers.serialization import register
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.tensors import Tensor


@register
class Bert(TokenNormalizedModel):
    """The encoder of BERT, without heads: ids and segments in, vectors out.

    All variables exist from construction on.

    Args:
        config: `BertConfig`.
        **kwargs: Of `keras.Model`; `dtype` takes a policy such as "mixed_bfloat16".

    Call arguments:
        inputs: A dict of "ids", int `[batch, length]`, 0 at padding, and "segments", int
            `[batch, length]`, 0 in the first text and 1 in the second; without segments all is the
            first.
        training: Whether dropout is active.

    Returns:
        A dict of "tokens", float `[batch, length, d_model]`, and "pooled", float
        `[batch, d_model]`.

    Raises:
        ValueError: If a text is longer than `config.max_length`, or ids are none; see
            `layers/ids.py`.

    Example:
        >>> model = Bert(BertConfig.preset("bert_tiny", vocab_size=1000))
        >>> outputs = model({"ids": np.array([[5, 6, 3]])})
        >>> tuple(outputs["tokens"].shape), tuple(outputs["pooled"].shape)
        ((1, 3, 128), (1, 128))

    Reference:
        "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", arXiv
        1810.04805, Section 3 and Figure 2.
    """

    def __init__(self, config: BertConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = BertConfig.of(config)
        encoder, part = self.config.encoder, {"dtype": self.dtype_policy}
        self.token_embedding, self.segment_embedding = (
            TokenEmbedding(size, encoder.d_model, scale=False, name=f"{name}_embedding", **part)
            for name, size in (
                ("token", self.config.vocab_size),
                ("segment", self.config.num_segments),
            )
        )
        self.embedding_sum = PositionalSum(
            encoder.positions,
            encoder.max_length,
            encoder.dropout,
            encoder.norm_epsilon,
            name="embedding_sum",
            **part,
        )
        self.padding_mask = PaddingMask(name="padding_mask")
        self.encoder = Encoder(encoder, name="encoder", **part)
        self.pooler = keras.layers.Dense(encoder.d_model, "tanh", name="pooler", **part)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Creates all variables; their shapes follow from the configuration alone."""
        ids, hidden = (None, None), (None, None, self.config.d_model)
        for part in (self.token_embedding, self.segment_embedding, self.padding_mask):
            part.build(ids)
        for part in (self.embedding_sum, self.encoder):
            part.build(hidden)
        self.pooler.build((None, self.config.d_model))
        begin_truncated_normal(self.weights, self.config.initial_stddev)
        self.built = True

    def call(
        self,
        inputs: Mapping[str, Tensor],
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Any:
        ids = _batch_of_ids(inputs)
        segments = inputs.get("segments", ops.zeros_like(ids))
        x = self.token_embedding(ids) + self.segment_embedding(segments)
        x = self.embedding_sum(x, training=training)
        x, weights = self.encoder(x, attention_mask=self.padding_mask(ids), training=training)
        outputs = {"tokens": x, "pooled": self.pooler(x[:, 0])}
        return (outputs, weights) if return_attention_weights else outputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}


def _batch_of_ids(inputs: Mapping[str, Tensor]) -> Tensor:
    if not isinstance(inputs, Mapping) or "ids" not in inputs:
        got = sorted(inputs) if isinstance(inputs, Mapping) else type(inputs).__name__
        raise ValueError(
            '`inputs` must be a dict with "ids", and "segments" where there are two texts. '
            f"Received: inputs={got}"
        )
    shape = tuple(inputs["ids"].shape)
    if len(shape) != 2:
        raise ValueError(
            f"`ids` must be a batch of ids, `[batch, length]`. Received: shape={shape}"
        )
    return inputs["ids"]
