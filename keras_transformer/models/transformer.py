"""The Transformer (Figure 1) as a subclassed Keras model."""

import dataclasses

import keras
from keras import ops

from keras_transformer.config import TransformerConfig
from keras_transformer.layers import (
    Decoder,
    DecoderMask,
    EmbeddingSum,
    Encoder,
    PaddingMask,
    TokenEmbedding,
)
from keras_transformer.layers.beams import take_beams
from keras_transformer.layers.cache import fill_up, newest_slots, resize
from keras_transformer.layers.serialization import register
from keras_transformer.models.training_step import TokenNormalizedModel


@register
class Transformer(TokenNormalizedModel):
    """Encoder and decoder with their embeddings: source and target ids in, logits out.

    Ids are 0 for padding; the target is shifted by one for teacher forcing, so that its first id is
    the start of a sentence and logits at position i are those of target i + 1. All variables exist
    from construction on.

    Args:
        config: `TransformerConfig`.
        **kwargs: Of `keras.Model`; `dtype` takes a policy such as "mixed_bfloat16".

    Call arguments:
        inputs: A dict of "source", int `[batch, source_length]`, and "target", int
            `[batch, target_length]`.
        training: Whether dropout is active.
        return_attention_weights: Whether to return the attention weights as well.

    Returns:
        float32 logits `[batch, target_length, vocab_size]`. With `return_attention_weights`, also a
        dict of "encoder", "decoder" and "cross": for each layer, float
        `[batch, heads, query_length, key_length]`.

    Raises:
        ValueError: If a sequence is longer than `config.max_length`.

    Example:
        >>> model = Transformer(TransformerConfig.preset("tiny", vocab_size=1000))
        >>> logits = model({"source": np.array([[5, 6, 3]]), "target": np.array([[2, 7]])})
        >>> tuple(logits.shape)
        (1, 2, 1000)

    Reference:
        "Attention Is All You Need", Section 3 and Figure 1.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = (
            config if isinstance(config, TransformerConfig) else TransformerConfig(**config)
        )
        self._make_embeddings()
        part = {"dtype": self.dtype_policy}
        self.padding_mask = PaddingMask(name="padding_mask")
        self.decoder_mask = DecoderMask(name="decoder_mask")
        self.encoder = Encoder(self.config, name="encoder", **part)
        self.decoder = Decoder(self.config, name="decoder", **part)
        self.build()

    def _make_embeddings(self):
        config, part = self.config, {"dtype": self.dtype_policy}

        def token_embedding(vocab_size, name):
            return TokenEmbedding(vocab_size, config.d_model, name=name, **part)

        def embedding_sum(name):
            return EmbeddingSum(
                config.positions, config.max_length, config.dropout, name=name, **part
            )

        self.target_embedding = token_embedding(config.vocab_size, "target_embedding")
        if config.joint_vocabulary and config.tie_embeddings:
            self.source_embedding = self.target_embedding
        else:
            source_size = config.source_vocab_size or config.vocab_size
            self.source_embedding = token_embedding(source_size, "source_embedding")
        if config.tie_embeddings:
            self.output_embedding = self.target_embedding
        else:
            self.output_embedding = token_embedding(config.vocab_size, "output_embedding")
        self.source_sum = embedding_sum("source_sum")
        self.target_sum = embedding_sum("target_sum")

    def build(self, input_shape=None):
        """Creates all variables; their shapes follow from the configuration alone."""
        hidden = (None, None, self.config.d_model)
        for embedding in (self.source_embedding, self.target_embedding, self.output_embedding):
            if not embedding.built:
                embedding.build()
        for part in (self.source_sum, self.target_sum, self.encoder):
            part.build(hidden)
        self.decoder.build(hidden, hidden)
        self.built = True

    def call(self, inputs, training=None, return_attention_weights=False):
        source, target = inputs["source"], inputs["target"]
        memory, encoder_weights = self._encode(source, training)
        logits, decoder_weights, cross_weights = self._decode(target, memory, source, training)
        if not return_attention_weights:
            return logits
        return logits, {
            "encoder": encoder_weights,
            "decoder": decoder_weights,
            "cross": cross_weights,
        }

    def encode(self, source, training=None):
        """Encodes source ids.

        Args:
            source: int `[batch, source_length]`.
            training: Whether dropout is active.

        Returns:
            The memory, float `[batch, source_length, d_model]`.
        """
        return self._encode(source, training)[0]

    def decode(self, target, memory, source, training=None):
        """Gives the logits of all target positions at once.

        Args:
            target: int `[batch, target_length]`.
            memory: float `[batch, source_length, d_model]`, from `encode`.
            source: int `[batch, source_length]`, the ids that `memory` encodes; they tell what of
                it is padding.
            training: Whether dropout is active.

        Returns:
            float32 logits `[batch, target_length, vocab_size]`.
        """
        return self._decode(target, memory, source, training)[0]

    def start_decoding(self, source, max_length, beam_size=1, coverage=False, memory_length=None):
        """Encodes a source and prepares a state for `decode_step`.

        Args:
            source: int `[batch, source_length]`.
            max_length: Steps to make room for; `resize_decoding` can make more.
            beam_size: Hypotheses of each sentence.
            coverage: Whether to sum up, in `state["coverage"]`, the attention of each hypothesis to
                each source token: float `[batch, beam, source_length]`, from the last layer, mean
                of its heads.
            memory_length: Length to fill the memory up to, so that the shapes of all steps are the
                same for every source; None for that of the source.

        Returns:
            A dict of tensors. Keys and values of the memory are projected here, once, and all
            hypotheses of a sentence read the same.
        """
        memory = self.encode(source, training=False)
        batch_size, slots = ops.shape(source)[0], max_length * beam_size
        keys_values, memory_mask = self.decoder.keys_values(memory), self.padding_mask(source)
        if memory_length is not None:
            keys_values = keras.tree.map_structure(
                lambda x: fill_up(x, batch_size, memory_length, axis=2), keys_values
            )
            memory_mask = fill_up(memory_mask, batch_size, memory_length, axis=3)
        state = {
            "index": ops.zeros((), "int32"),
            "past": ops.zeros((batch_size, beam_size, slots), "bool"),
            "caches": self.decoder.empty_caches(batch_size, slots),
            "keys_values": keys_values,
            "memory_mask": memory_mask,
            "output_kernel": self.output_embedding.output_kernel(),
        }
        if coverage:
            shape = (batch_size, beam_size, ops.shape(memory_mask)[3])
            state["coverage"] = ops.zeros(shape, self.compute_dtype)
        return state

    def decode_step(self, tokens, parents, state):
        """Gives the logits of each hypothesis's next token.

        Args:
            tokens: int `[batch, beam]`, the newest token of each hypothesis.
            parents: int `[batch, beam]`, which hypothesis of the last step each one continues.
            state: From `start_decoding` or the last `decode_step`.

        Returns:
            float32 logits `[batch, beam, vocab_size]` and the new state.
        """
        index, (batch_size, beam_size, num_slots) = state["index"], ops.shape(state["past"])
        slots = newest_slots(index, batch_size, beam_size, self.config.num_heads)
        own = ops.equal(slots[:, :, 0, 2:], ops.arange(num_slots, dtype="int32"))
        past = ops.logical_or(take_beams(state["past"], parents), own)
        x = self.target_embedding(ops.reshape(tokens, (-1, 1)))
        x = self.target_sum(x, start=index, training=False)
        x = ops.reshape(x, (-1, beam_size, self.config.d_model))
        x, cross_weights, caches = self.decoder.step(
            x,
            state["caches"],
            state["keys_values"],
            slots,
            attention_mask=ops.expand_dims(past, 1),
            cross_attention_mask=state["memory_mask"],
        )
        logits = self.output_embedding.logits(x, state["output_kernel"])
        state = {**state, "index": index + 1, "past": past, "caches": caches}
        if "coverage" in state:
            attended = ops.mean(cross_weights[-1], axis=1)
            state["coverage"] = take_beams(state["coverage"], parents) + attended
        return logits, state

    def resize_decoding(self, state, rows, max_length):
        """Keeps some of the sentences and makes room for more steps.

        Args:
            state: From `start_decoding` or `decode_step`.
            rows: int `[kept]`, the sentences to keep.
            max_length: Steps to have room for, at least as many as now.

        Returns:
            The state of those sentences.
        """
        slots = max_length * ops.shape(state["past"])[1]

        def change(names, function):
            parts = {name: state[name] for name in names if name in state}
            return keras.tree.map_structure(function, parts)

        return {
            **state,
            **change(["past", "caches"], lambda x: resize(x, rows, slots)),
            **change(
                ["keys_values", "memory_mask", "coverage"], lambda x: ops.take(x, rows, axis=0)
            ),
        }

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    def _encode(self, source, training):
        x = self.source_sum(self.source_embedding(source), training=training)
        return self.encoder(x, attention_mask=self.padding_mask(source), training=training)

    def _decode(self, target, memory, source, training):
        x = self.target_sum(self.target_embedding(target), training=training)
        x, decoder_weights, cross_weights = self.decoder(
            x,
            memory,
            attention_mask=self.decoder_mask(target),
            cross_attention_mask=self.padding_mask(source),
            training=training,
        )
        return self.output_embedding(x, reverse=True), decoder_weights, cross_weights
