"""The Transformer's predecessors as a subclassed Keras model: recurrent encoder-decoders.

What the paper's introduction sets out from: RNNsearch of Bahdanau et al., the models of Luong et
al., and the encoder-decoder without attention.
"""

import dataclasses
from typing import Any, NotRequired, TypedDict

import keras
from keras import ops

from keras_transformer.config.recurrent import RecurrentConfig
from keras_transformer.layers.beams import take_beams
from keras_transformer.layers.cache import fix_length
from keras_transformer.layers.embedding import TokenEmbedding
from keras_transformer.layers.gather import gather
from keras_transformer.layers.recurrent_decoder import make_decoder
from keras_transformer.layers.recurrent_encoder import RecurrentEncoder
from keras_transformer.layers.serialization import register
from keras_transformer.layers.source_attention import Memory
from keras_transformer.models.source_and_target import (
    SourceTargetModel,
    unpack_source_and_target,
)
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID


class State(TypedDict):
    """What a step needs of the source and of the steps before it.

    Args:
        index: int32 scalar, the next step.
        hidden: Of each hypothesis, float `[batch, beam, units]` each.
        memory: Of the source; all hypotheses of a sentence read the same.
        output_kernel: The matrix of the logits, `[embedding_dim, vocab_size]`.
        coverage: float `[batch, beam, source_length]`, the attention of each hypothesis to each
            source token so far, if it was asked for.
    """

    index: Tensor
    hidden: list[Tensor]
    memory: Memory
    output_kernel: Tensor
    coverage: NotRequired[Tensor]


@register
class RecurrentEncoderDecoder(SourceTargetModel):
    """Source and target ids in, logits out, one hidden state after the other.

    The encoder is bidirectional; `config.attention` says whose decoder reads it. All variables
    exist from construction on.

    Args:
        config: `RecurrentConfig`.
        **kwargs: Of `keras.Model`; `dtype` takes a policy such as "mixed_bfloat16".

    Call arguments:
        inputs: A dict of "source", int `[batch, source_length]`, and "target", int
            `[batch, target_length]`.
        training: Whether dropout is active.

    Returns:
        float32 logits `[batch, target_length, vocab_size]`.

    Raises:
        ValueError: If ids are no integers, or if they have values and one is not in the vocabulary;
            or if the score is "location" and a source longer than `config.max_length`.

    Example:
        >>> model = RecurrentEncoderDecoder(RecurrentConfig(vocab_size=1000))
        >>> logits = model({"source": np.array([[5, 6, 3]]), "target": np.array([[2, 7]])})
        >>> tuple(logits.shape)
        (1, 2, 1000)

    Reference:
        "Neural Machine Translation by Jointly Learning to Align and Translate", arXiv 1409.0473;
        "Effective Approaches to Attention-based Neural Machine Translation", arXiv 1508.04025;
        the three tied matrices: "Using the Output Embedding to Improve Language Models", arXiv
        1608.05859.
    """

    def __init__(self, config: RecurrentConfig, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = RecurrentConfig.of(config)
        part = {"dtype": self.dtype_policy}
        self._make_embeddings()
        self.embedding_dropout = keras.layers.Dropout(self.config.embedding_dropout, **part)
        self.dropout = keras.layers.Dropout(self.config.dropout, **part)
        self.encoder = RecurrentEncoder(self.config, name="encoder", **part)
        self.decoder = make_decoder(self.config, name="decoder", **part)
        self.build()

    def _make_embeddings(self) -> None:
        config = self.config

        def embedding(vocab_size: int, name: str) -> TokenEmbedding:
            return TokenEmbedding(
                vocab_size, config.embedding_dim, name=name, dtype=self.dtype_policy
            )

        self.target_embedding = self.source_embedding = self.output_embedding = embedding(
            config.vocab_size, "target_embedding"
        )
        if not (config.joint_vocabulary and config.tie_embeddings):
            source_size = config.source_vocab_size or config.vocab_size
            self.source_embedding = embedding(source_size, "source_embedding")
        if not config.tie_embeddings:
            self.output_embedding = embedding(config.vocab_size, "output_embedding")

    def build(self, input_shape: Any = None) -> None:
        """Creates all variables; their shapes follow from the configuration alone."""
        for embedding in (self.source_embedding, self.target_embedding, self.output_embedding):
            if not embedding.built:
                embedding.build((None, None))
        self.encoder.build((None, None, self.config.embedding_dim))
        self.decoder.build()
        self.built = True

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        source, target = unpack_source_and_target(inputs)
        memory, hidden = self._encode(source, training)
        x = self._embed(self.target_embedding, target, training)
        outputs, *attention = self.decoder(
            x, memory, hidden, training=training, return_attention=self._reinforced(training)
        )
        read = self.dropout(self.decoder.read_out(x, outputs), training=training)
        logits = self.output_embedding(read, reverse=True)
        if attention:
            self._reinforce(target, logits, memory, *attention)
        return logits

    def _reinforced(self, training: bool | None) -> bool:
        """Tells whether the step draws places that are to be rewarded."""
        config = self.config
        drawn = training and config.attention != "none" and config.alignment in ("hard", "gumbel")
        if drawn and keras.backend.backend() != "tensorflow":
            raise ValueError(
                "`alignment` must be one that draws nothing, to train on another backend than "
                "TensorFlow: there a loop over positions draws the same at each. Received: "
                f"alignment={config.alignment!r} on {keras.backend.backend()}"
            )
        return bool(drawn) and config.alignment == "hard"

    def _reinforce(
        self,
        target: Tensor,
        logits: Tensor,
        memory: Memory,
        weights: Tensor,
        attention_logits: Tensor,
    ) -> None:
        """Adds the loss by which hard attention learns; see `HardAlignment.reinforce_loss`."""
        real = ops.not_equal(target, PAD_ID)
        following = ops.pad(target[:, 1:], [[0, 0], [0, 1]], constant_values=PAD_ID)
        labels = ops.where(ops.logical_and(real, following == PAD_ID), EOS_ID, following)
        chosen = ops.take_along_axis(ops.log_softmax(logits), ops.expand_dims(labels, -1), -1)
        log_probs = ops.where(real, ops.squeeze(chosen, -1), 0.0)
        loss = self.decoder.attention.alignment.reinforce_loss(
            attention_logits,
            weights,
            ops.sum(log_probs, axis=1),
            attention_mask=memory["attention_mask"],
            query_mask=real,
        )
        self.add_loss(ops.divide_no_nan(ops.sum(loss), ops.sum(ops.cast(real, "float32"))))

    def _embed(self, embedding: TokenEmbedding, ids: Tensor, training: bool | None) -> Tensor:
        return self.embedding_dropout(embedding(ids), training=training)

    def _encode(self, source: Tensor, training: bool | None) -> tuple[Memory, list[Tensor]]:
        """Encodes source ids.

        Args:
            source: int `[batch, source_length]`.
            training: Whether dropout is active.

        Returns:
            What the decoder attends to, and its first hidden states.
        """
        real = ops.not_equal(source, PAD_ID)
        x = self._embed(self.source_embedding, source, training)
        annotations, forwards, backwards = self.encoder(x, real, training=training)
        summary = ops.concatenate([forwards, backwards], -1)
        memory = self.decoder.attention.memory(
            self.dropout(annotations, training=training),
            self.dropout(summary, training=training),
            real,
        )
        return memory, self.decoder.initial_states(backwards)

    def start_decoding(
        self,
        source: Tensor,
        max_length: int | Tensor,
        beam_size: int = 1,
        coverage: bool = False,
    ) -> State:
        """Encodes a source and prepares a state for `decode_step`; see `Seq2Seq`.

        It is as large for few steps as for many, so `max_length` is of no effect.
        """
        memory, hidden = self._encode(source, False)
        state: State = {
            "index": ops.zeros((), "int32"),
            "hidden": [ops.repeat(part, beam_size, axis=1) for part in hidden],
            "memory": memory,
            "output_kernel": self.output_embedding.output_kernel(),
        }
        if coverage:
            attention_mask = memory["attention_mask"]
            shape = (ops.shape(source)[0], beam_size, ops.shape(attention_mask)[-1])
            state["coverage"] = ops.zeros(shape, "float32")  # A sum of many small weights.
        return state

    def decode_step(self, tokens: Tensor, parents: Tensor, state: State) -> tuple[Tensor, State]:
        """Gives the logits of each hypothesis's next token; see `Seq2Seq`."""
        x = self.target_embedding(tokens)
        hidden = [take_beams(part, parents) for part in state["hidden"]]
        output, attended, hidden = self.decoder.step(x, hidden, state["memory"], state["index"])
        logits = self.output_embedding.logits(
            self.decoder.read_out(x, output), state["output_kernel"]
        )
        state = {**state, "index": state["index"] + 1, "hidden": hidden}
        if "coverage" in state:
            weights = ops.cast(attended.weights, "float32")
            state["coverage"] = take_beams(state["coverage"], parents) + weights
        return logits, state

    def resize_decoding(self, state: State, rows: Tensor, max_length: int | Tensor) -> State:
        """Keeps some of the sentences; there is room for any number of steps. See `Seq2Seq`."""

        def kept(part: Any) -> Any:
            return keras.tree.map_structure(lambda x: gather(x, rows), part)

        resized: State = {
            **state,
            "hidden": kept(state["hidden"]),
            "memory": kept(state["memory"]),
        }
        if "coverage" in state:
            resized["coverage"] = kept(state["coverage"])
        return resized

    def fix_decoding(self, begun: State, state: State, length: int) -> State:
        """Gives a state shapes that are the same for every source; see `Seq2Seq`."""
        batch_size = ops.shape(state["hidden"][0])[0]

        def fixed(x: Tensor, axis: int) -> Tensor:
            return fix_length(x, batch_size, length, axis)

        memory: Memory = {**begun["memory"]}
        memory["attention_mask"] = fixed(memory["attention_mask"], axis=2)
        if "keys" in memory:  # Otherwise the source is one vector.
            memory["keys"] = fixed(memory["keys"], axis=1)
            memory["values"] = fixed(memory["values"], axis=1)
        fixed_state: State = {**state, "memory": memory}
        if "coverage" in state:
            fixed_state["coverage"] = fixed(state["coverage"], axis=2)
        return fixed_state

    def coverage(self, state: State) -> tuple[Tensor, Tensor]:
        """Tells how much attention each source token has got so far; see `Seq2Seq`."""
        return state["coverage"], state["memory"]["attention_mask"]

    def attention_weights(self, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        """Gives the weights of the one layer that attends; see `Seq2Seq`."""
        return {"cross": [self.alignment(inputs)]}

    def alignment(self, inputs: dict[str, Tensor]) -> Tensor:
        """Gives the attention weights, of which there is one head; see `Seq2Seq`."""
        source, target = unpack_source_and_target(inputs)
        memory, hidden = self._encode(source, False)
        x = self.target_embedding(target)
        _, weights, _ = self.decoder(x, memory, hidden, return_attention=True)
        return ops.cast(ops.expand_dims(weights, 1), "float32")

    def vocabulary_matrices(self) -> dict[str, list[keras.Variable]]:
        """Returns the matrices that have a row for each piece; see `Seq2Seq`."""
        return {
            "source": [self.source_embedding.embeddings],
            "target": [self.target_embedding.embeddings, self.output_embedding.embeddings],
        }

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}
