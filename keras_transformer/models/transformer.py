"""The Transformer (Section 3 and Figure 1) as a subclassed Keras model."""

import dataclasses
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.layers import (
    Decoder,
    DecoderMask,
    Encoder,
    PaddingMask,
    PositionalSum,
    TokenEmbedding,
)
from keras_transformer.layers.serialization import register
from keras_transformer.models.source_and_target import (
    SourceTargetModel,
    unpack_source_and_target,
)
from keras_transformer.models.transformer_decoding import TransformerDecoding
from keras_transformer.tensors import Tensor


@register
class Transformer(TransformerDecoding, SourceTargetModel):
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
        ValueError: If ids are no integers; or if they have values (as in a call by hand), and one
            is not in the vocabulary or a sequence is longer than `config.max_length`. In a graph
            for any batch, that is an error on a CPU alone; elsewhere such an id has no vector, and
            such a place no position.

    Example:
        >>> model = Transformer(TransformerConfig.preset("tiny", vocab_size=1000))
        >>> logits = model({"source": np.array([[5, 6, 3]]), "target": np.array([[2, 7]])})
        >>> tuple(logits.shape)
        (1, 2, 1000)

    Reference:
        "Attention Is All You Need", Section 3 and Figure 1; one matrix for both embeddings and the
        logits: Section 3.4.
    """

    def __init__(self, config: TransformerConfig, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = TransformerConfig.of(config)
        self._make_embeddings()
        part = {"dtype": self.dtype_policy}
        self.padding_mask = PaddingMask(name="padding_mask")
        # Restricted attention is causal without a mask of all pairs of positions.
        mask_class = DecoderMask if self.config.window is None else PaddingMask
        self.decoder_mask = mask_class(name="decoder_mask")
        self.encoder = Encoder(self.config, name="encoder", **part)
        self.decoder = Decoder(self.config, name="decoder", **part)
        self.build()

    def _make_embeddings(self) -> None:
        config, part = self.config, {"dtype": self.dtype_policy}

        def token_embedding(vocab_size: int, name: str, **options: bool) -> TokenEmbedding:
            options["scale"] = config.scale_embeddings
            return TokenEmbedding(vocab_size, config.d_model, name=name, **options, **part)

        def positional_sum(name: str) -> PositionalSum:
            epsilon = config.norm_epsilon if config.embedding_norm else None
            return PositionalSum(
                config.positions, config.max_length, config.dropout, epsilon, name=name, **part
            )

        start, bias = {"zero_start": config.zero_start}, {"output_bias": config.output_bias}
        tied = bias if config.tie_embeddings else {}
        self.target_embedding = token_embedding(
            config.vocab_size, "target_embedding", **start, **tied
        )
        if config.one_embedding:
            self.source_embedding = self.target_embedding
        else:
            source_size = config.source_vocab_size or config.vocab_size
            self.source_embedding = token_embedding(source_size, "source_embedding")
        if config.tie_embeddings:
            self.output_embedding = self.target_embedding
        else:
            self.output_embedding = token_embedding(config.vocab_size, "output_embedding", **bias)
        self.source_sum = positional_sum("source_sum")
        self.target_sum = positional_sum("target_sum")

    def build(self, input_shape: Any = None) -> None:
        """Creates all variables; their shapes follow from the configuration alone."""
        ids, hidden = (None, None), (None, None, self.config.d_model)
        for embedding in (self.source_embedding, self.target_embedding, self.output_embedding):
            if not embedding.built:
                embedding.build(ids)
        for mask in (self.padding_mask, self.decoder_mask):
            mask.build(ids)
        for part in (self.source_sum, self.target_sum, self.encoder):
            part.build(hidden)
        self.decoder.build(hidden, hidden)
        self.built = True

    def call(
        self,
        inputs: dict[str, Tensor],
        training: bool | None = None,
        return_attention_weights: bool = False,
    ) -> Any:
        source, target = unpack_source_and_target(inputs)
        memory, encoder_weights = self._encode(source, training)
        logits, decoder_weights, cross_weights = self._decode(target, memory, source, training)
        if not return_attention_weights:
            return logits
        return logits, {
            "encoder": self.encoder.weights_matrices(encoder_weights),
            "decoder": self.decoder.weights_matrices(decoder_weights),
            "cross": cross_weights,
        }

    def _encode(self, source: Tensor, training: bool | None) -> tuple[Tensor, list[Tensor]]:
        x = self.source_sum(self.source_embedding(source), training=training)
        return self.encoder(x, attention_mask=self.padding_mask(source), training=training)

    def _decode(
        self, target: Tensor, memory: Tensor, source: Tensor, training: bool | None
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        x = self.target_sum(self.target_embedding(target), training=training)
        x, decoder_weights, cross_weights = self.decoder(
            x,
            memory,
            attention_mask=self.decoder_mask(target),
            cross_attention_mask=self.padding_mask(source),
            training=training,
        )
        return self.output_embedding(x, reverse=True), decoder_weights, cross_weights

    def encode(self, source: Tensor, training: bool | None = None) -> Tensor:
        """Encodes source ids.

        Args:
            source: int `[batch, source_length]`.
            training: Whether dropout is active.

        Returns:
            The memory, float `[batch, source_length, d_model]`.
        """
        return self._encode(source, training)[0]

    def decode(
        self, target: Tensor, memory: Tensor, source: Tensor, training: bool | None = None
    ) -> Tensor:
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

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}
