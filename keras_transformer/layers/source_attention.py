"""Beyond the paper: what a recurrent decoder reads of its source at a step, the context vector.

    c_i = sum over j of alpha_ij h_j

with weights alpha_ij of the annotations h_j; or, as before attention, c_i = c, one vector for all.
Both have one contract: `memory` prepares, once a sentence, what a call reads at every step.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NotRequired, TypedDict

from keras import ops

from keras_transformer.config.recurrent import RecurrentConfig
from keras_transformer.layers.alignments import make_alignment
from keras_transformer.layers.masks import masked_softmax
from keras_transformer.layers.recurrent import RecurrentPart
from keras_transformer.layers.scores import make_score
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor


class Memory(TypedDict):
    """What a decoder reads of a source.

    Args:
        values: What contexts are sums of, float `[batch, source_length, 2 * encoder_units]`; or
            the one vector that all contexts are, `[batch, 1, 2 * encoder_units]`.
        keys: What in the score depends on the annotations alone, float
            `[batch, source_length, width]`, if there is a score.
        attention_mask: bool `[batch, 1, source_length]`, True at real tokens.
    """

    values: Tensor
    keys: NotRequired[Tensor]
    attention_mask: Tensor


class Attended(NamedTuple):
    """What attention gives.

    Args:
        context: The context vectors, float `[batch, queries, 2 * encoder_units]`.
        weights: float `[batch, queries, source_length]`.
        logits: float32, of the same shape.
    """

    context: Tensor
    weights: Tensor
    logits: Tensor


@register
class SourceAttention(RecurrentPart):
    """Sums annotations, each by how well it answers a state.

    Args:
        config: `RecurrentConfig`.

    Call arguments:
        query: float `[batch, queries, decoder_units]`, the state that attends.
        memory: Of the source, from `memory`.
        position: int, broadcastable to `[batch, queries]`, the queries' positions in the target.
        training: Whether hard alignments draw.

    Returns:
        `Attended`.

    Example:
        >>> attention = SourceAttention(RecurrentConfig(encoder_units=32, decoder_units=16))
        >>> annotations, query = keras.ops.ones((1, 5, 64)), keras.ops.ones((1, 2, 16))
        >>> attention.build(query.shape, annotations.shape)
        >>> memory = attention.memory(annotations, annotations[:, 0], np.ones((1, 5), bool))
        >>> attended = attention(query, memory, position=np.array([[0]]))

    Reference:
        Bahdanau et al., arXiv 1409.0473, Equations 5 and 6.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        config, part = self.config, {"dtype": self.dtype_policy}
        units = config.attention_units
        self.score = make_score(
            config.score, units=units, max_length=config.max_length, name="score", **part
        )
        self.alignment = make_alignment(
            config.alignment, units=units, half_width=config.half_width, name="alignment", **part
        )

    def build(self, query_shape: Shape, annotations_shape: Shape) -> None:
        self.score.build(query_shape, annotations_shape)
        weights = (*query_shape[:-1], annotations_shape[-2])
        self.alignment.build(weights, query_shape)

    def memory(self, annotations: Tensor, summary: Tensor, real: Tensor) -> Memory:
        """Prepares a source for the calls.

        Args:
            annotations: float `[batch, source_length, 2 * encoder_units]`.
            summary: float `[batch, 2 * encoder_units]`, the source in one vector.
            real: bool `[batch, source_length]`, which annotations are of no padding.
        """
        return {
            "values": annotations,
            "keys": self.score.project_keys(annotations),
            "attention_mask": ops.expand_dims(real, 1),
        }

    def call(
        self, query: Tensor, memory: Memory, position: Tensor, training: bool | None = None
    ) -> Attended:
        logits = self.score.logits(query, memory["keys"])
        weights = self.alignment(
            logits, memory["attention_mask"], query, position=position, training=training
        )
        return Attended(ops.matmul(weights, memory["values"]), weights, logits)


@register
class FixedVector(RecurrentPart):
    """Gives every state the same context, the source in one vector: no attention.

    No token of the source counts more than another, so the weights that are told are those of a
    mean.

    Args:
        config: `RecurrentConfig`.

    Call arguments:
        query: float `[batch, queries, decoder_units]`, of which the shape alone counts.
        memory: Of the source, from `memory`.
        position: Of no effect.
        training: Of no effect.

    Returns:
        `Attended`.

    Example:
        >>> attention = FixedVector(RecurrentConfig(attention="none", encoder_units=32))
        >>> annotations, query = keras.ops.ones((1, 4, 64)), keras.ops.ones((1, 2, 256))
        >>> attention.build(query.shape)
        >>> memory = attention.memory(annotations, annotations[:, 0], np.ones((1, 4), bool))
        >>> weights = attention(query, memory, position=np.array([[0]])).weights
        >>> keras.ops.convert_to_numpy(weights)[0, 0].tolist()
        [0.25, 0.25, 0.25, 0.25]

    Reference:
        Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical
        Machine Translation", arXiv 1406.1078.
    """

    def build(self, query_shape: Shape, annotations_shape: Shape | None = None) -> None:
        """Makes nothing; Keras takes a layer without it for one that is not built yet."""

    def memory(self, annotations: Tensor, summary: Tensor, real: Tensor) -> Memory:
        """Prepares a source for the calls; see `SourceAttention`."""
        return {
            "values": ops.expand_dims(summary, 1),
            "attention_mask": ops.expand_dims(real, 1),
        }

    def call(
        self, query: Tensor, memory: Memory, position: Tensor, training: bool | None = None
    ) -> Attended:
        shape = (*ops.shape(query)[:2], ops.shape(memory["attention_mask"])[-1])
        logits = ops.zeros(shape, "float32")
        weights = ops.cast(masked_softmax(logits, memory["attention_mask"]), self.compute_dtype)
        context = memory["values"] + ops.zeros_like(query[:, :, :1])
        return Attended(context, weights, logits)


def make_attention(config: RecurrentConfig, **kwargs: Any) -> SourceAttention | FixedVector:
    """Makes what a decoder reads its source by.

    Args:
        config: The shape.
        **kwargs: Of `keras.layers.Layer`.

    Example:
        >>> type(make_attention(RecurrentConfig(attention="none"))).__name__
        'FixedVector'
    """
    return (FixedVector if config.attention == "none" else SourceAttention)(config, **kwargs)
