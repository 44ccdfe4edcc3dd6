"""A family that exists in the tests alone: each target token from the one before it and all source.

    logits_i = E^T tanh(W (E[target_i] + mean of E[source]))

One file with a configuration and a model, and one line in the table: `FAMILIES["toy"] = FAMILY`.
"""

import dataclasses

import keras
from keras import ops

from keras_transformer.layers import TokenEmbedding
from keras_transformer.layers.beams import take_beams
from keras_transformer.layers.cache import fix_length
from keras_transformer.models.families import Family
from keras_transformer.models.token_normalized import TokenNormalizedModel


@dataclasses.dataclass(frozen=True)
class ToyConfig:
    """The shape of a toy.

    Args:
        vocab_size: Size of the target vocabulary, and of the source's when it is joint.
        source_vocab_size: Size of the source vocabulary; None for a joint one.
        d_model: Width.
        dropout: Dropout rate of the hidden vector.
        max_length: Longest source or target in tokens.
    """

    vocab_size: int = 300
    source_vocab_size: int | None = None
    d_model: int = 16
    dropout: float = 0.1
    max_length: int = 48

    def meaning(self):
        values = dataclasses.asdict(self)
        return {name: values[name] for name in ("vocab_size", "source_vocab_size", "d_model")}

    def floats_of_pair(self, source_length, target_length):
        return target_length * (3 * self.vocab_size + 4 * self.d_model) + source_length


@keras.saving.register_keras_serializable(package="tests")
class Toy(TokenNormalizedModel):
    """Source and target ids in, logits out."""

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config if isinstance(config, ToyConfig) else ToyConfig(**config)
        size, part = self.config.d_model, {"dtype": self.dtype_policy}
        source_size = self.config.source_vocab_size or self.config.vocab_size
        self.source_embedding = TokenEmbedding(source_size, size, name="source", **part)
        self.target_embedding = TokenEmbedding(self.config.vocab_size, size, name="target", **part)
        self.hidden = keras.layers.Dense(size, "tanh", name="hidden", **part)
        self.dropout = keras.layers.Dropout(self.config.dropout, **part)
        self.source_embedding.build()
        self.target_embedding.build()
        self.hidden.build((None, None, size))
        self.built = True

    def call(self, inputs, training=None):
        memory, _ = self._encode(inputs["source"])
        return self._logits(inputs["target"], memory, training)

    def _encode(self, source):
        """Returns the mean of the real tokens `[batch, 1, d_model]` and their shares."""
        real = ops.cast(ops.not_equal(source, 0), self.compute_dtype)
        shares = real / ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)
        return ops.matmul(ops.expand_dims(shares, 1), self.source_embedding(source)), shares

    def _logits(self, tokens, memory, training=False):
        hidden = self.hidden(self.target_embedding(tokens) + memory)
        return self.target_embedding(self.dropout(hidden, training=training), reverse=True)

    def start_decoding(self, source, max_length, beam_size=1, coverage=False):
        memory, shares = self._encode(source)
        state = {"memory": memory, "shares": shares}
        if coverage:
            shape = (ops.shape(source)[0], beam_size, ops.shape(shares)[1])
            state["coverage"] = ops.zeros(shape, self.compute_dtype)
        return state

    def decode_step(self, tokens, parents, state):
        logits = self._logits(tokens, state["memory"])
        if "coverage" in state:
            attended = take_beams(state["coverage"], parents) + ops.expand_dims(state["shares"], 1)
            state = {**state, "coverage": attended}
        return logits, state

    def resize_decoding(self, state, rows, max_length):
        return {name: ops.take(x, rows, axis=0) for name, x in state.items()}

    def fix_decoding(self, begun, state, length):
        batch_size = ops.shape(state["memory"])[0]
        state = {**state, "shares": fix_length(begun["shares"], batch_size, length, axis=1)}
        if "coverage" in state:
            state["coverage"] = fix_length(state["coverage"], batch_size, length, axis=2)
        return state

    def coverage(self, state):
        return state["coverage"], ops.expand_dims(state["shares"] > 0, 1)

    def attention_weights(self, inputs):
        return {"cross": [self.alignment(inputs)]}

    def alignment(self, inputs):
        _, shares = self._encode(inputs["source"])
        shape = (ops.shape(shares)[0], 1, ops.shape(inputs["target"])[1], ops.shape(shares)[1])
        return ops.broadcast_to(ops.cast(shares, "float32")[:, None, None, :], shape)

    def vocabulary_matrices(self):
        return {
            "source": [self.source_embedding.embeddings],
            "target": [self.target_embedding.embeddings],
        }

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}


FAMILY = Family("toy", ToyConfig, Toy, {"toy": {"d_model": 24}})
