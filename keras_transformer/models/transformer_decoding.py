"""The Transformer token by token, as a search runs it: the decoder of Figure 1 with a cache.

A step gives the logits that `Transformer.call` gives at the same position. The state is a plain
nested structure of tensors that goes in and comes out; `layers/cache.py` tells how its slots are
used. What the methods take and return stands in `Seq2Seq`.
"""

from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

import keras
import numpy as np
from keras import ops

from keras_transformer.config import TransformerConfig
from keras_transformer.layers import Decoder, PaddingMask, PositionalSum, TokenEmbedding
from keras_transformer.layers.beams import take_beams
from keras_transformer.layers.cache import fix_length, newest_slots, resize
from keras_transformer.layers.gather import gather
from keras_transformer.tensors import Tensor


class State(TypedDict):
    """What a step needs of the steps before it.

    Args:
        index: int32 scalar, the next step.
        past: bool `[batch, beam, slots]`, which slots hold a hypothesis's own tokens.
        caches: Keys and values of the tokens so far, of each layer's self-attention.
        keys_values: Keys and values of the memory, of each layer's cross-attention.
        memory_mask: bool `[batch, 1, 1, source_length]`.
        output_kernel: The matrix of the logits, `[d_model, vocab_size]`.
        coverage: float `[batch, beam, source_length]`, the attention of each hypothesis to each
            source token so far, if it was asked for.
    """

    index: Tensor
    past: Tensor
    caches: list[tuple[Tensor, ...]]
    keys_values: list[tuple[Tensor, Tensor]]
    memory_mask: Tensor
    output_kernel: Tensor
    coverage: NotRequired[Tensor]


class TransformerDecoding:
    """What `Seq2Seq` asks for, of a model with the parts of Figure 1."""

    config: TransformerConfig
    compute_dtype: str
    source_embedding: TokenEmbedding
    target_embedding: TokenEmbedding
    output_embedding: TokenEmbedding
    target_sum: PositionalSum
    padding_mask: PaddingMask
    decoder: Decoder
    encode: Callable[..., Tensor]
    __call__: Callable[..., Any]

    def start_decoding(
        self,
        source: Tensor,
        max_length: int | Tensor,
        beam_size: int = 1,
        coverage: bool = False,
    ) -> State:
        """Encodes a source and prepares a state for `decode_step`; see `Seq2Seq`.

        Keys and values of the memory are projected here, once, and all hypotheses of a sentence
        read the same. Coverage is that of the last layer, the mean of its heads.
        """
        memory = self.encode(source, training=False)
        batch_size, slots = ops.shape(source)[0], self._steps_kept(max_length) * beam_size
        memory_mask = self.padding_mask(source)
        state: State = {
            "index": ops.zeros((), "int32"),
            "past": ops.zeros((batch_size, beam_size, slots), "bool"),
            "caches": self.decoder.empty_caches(batch_size, slots),
            "keys_values": self.decoder.keys_values(memory),
            "memory_mask": memory_mask,
            "output_kernel": self.output_embedding.output_kernel(),
        }
        if coverage:
            shape = (batch_size, beam_size, ops.shape(memory_mask)[3])
            state["coverage"] = ops.zeros(shape, "float32")  # A sum of many small weights.
        return state

    def decode_step(self, tokens: Tensor, parents: Tensor, state: State) -> tuple[Tensor, State]:
        """Gives the logits of each hypothesis's next token; see `Seq2Seq`."""
        index, (batch_size, beam_size, num_slots) = state["index"], ops.shape(state["past"])
        window, past = self.config.window, take_beams(state["past"], parents)
        place = index if window is None else index % window
        slots = newest_slots(place, batch_size, beam_size, self.config.num_heads)
        numbers = ops.arange(num_slots, dtype="int32")
        if window is not None:
            # These slots may be of the step that leaves the window.
            past = ops.logical_and(past, ops.not_equal(numbers // beam_size, place))
        newest = place * beam_size + np.arange(beam_size, dtype=np.int32)[:, None]
        past = ops.logical_or(past, ops.equal(newest, numbers))
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
            attended = ops.mean(ops.cast(cross_weights[-1], "float32"), axis=1)
            state["coverage"] = take_beams(state["coverage"], parents) + attended
        return logits, state

    def _steps_kept(self, max_length: int | Tensor) -> int | Tensor:
        """Returns how many steps the caches hold of so many."""
        window = self.config.window
        if window is None:
            return max_length
        if isinstance(max_length, int):
            return min(max_length, window)
        return ops.minimum(max_length, window)

    def resize_decoding(self, state: State, rows: Tensor, max_length: int | Tensor) -> State:
        """Keeps some of the sentences and makes room for more steps; see `Seq2Seq`."""
        slots = self._steps_kept(max_length) * ops.shape(state["past"])[1]

        def kept(part: Any) -> Any:
            return keras.tree.map_structure(lambda x: gather(x, rows), part)

        def kept_with_room(part: Any) -> Any:
            return keras.tree.map_structure(lambda x: resize(x, rows, slots), part)

        resized: State = {
            **state,
            "past": kept_with_room(state["past"]),
            "caches": kept_with_room(state["caches"]),
            "keys_values": kept(state["keys_values"]),
            "memory_mask": kept(state["memory_mask"]),
        }
        if "coverage" in state:
            resized["coverage"] = kept(state["coverage"])
        return resized

    def fix_decoding(self, begun: State, state: State, length: int) -> State:
        """Gives a state shapes that are the same for every source; see `Seq2Seq`."""
        batch_size, beam_size, _ = ops.shape(state["past"])
        slots = self._steps_kept(length) * beam_size

        def fixed(part: Any, length: int, axis: int) -> Any:
            return keras.tree.map_structure(lambda x: fix_length(x, batch_size, length, axis), part)

        fixed_state: State = {
            **state,
            "past": fixed(state["past"], slots, axis=2),
            "caches": fixed(state["caches"], slots, axis=2),
            "keys_values": fixed(begun["keys_values"], length, axis=2),
            "memory_mask": fixed(begun["memory_mask"], length, axis=3),
        }
        if "coverage" in state:
            fixed_state["coverage"] = fixed(state["coverage"], length, axis=2)
        return fixed_state

    def coverage(self, state: State) -> tuple[Tensor, Tensor]:
        """Tells how much attention each source token has got so far; see `Seq2Seq`."""
        return state["coverage"], state["memory_mask"][:, 0]

    def attention_weights(self, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        """Gives the weights of all layers of the encoder and the decoder; see `Seq2Seq`."""
        _, weights = self(inputs, training=False, return_attention_weights=True)
        return weights

    def alignment(self, inputs: dict[str, Tensor]) -> Tensor:
        """Gives the weights that tell best which source token a target token is from.

        Those of the last decoder layer but one (arXiv 1909.02074); see `Seq2Seq`.
        """
        weights = self.attention_weights(inputs)["cross"]
        return ops.cast(weights[max(-2, -self.config.decoder_layers)], "float32")

    def vocabulary_matrices(self) -> dict[str, list[keras.Variable]]:
        """Returns the matrices that have a row for each piece; see `Seq2Seq`."""
        bias = self.output_embedding.bias
        return {
            "source": [self.source_embedding.embeddings],
            "target": [
                self.target_embedding.embeddings,
                self.output_embedding.embeddings,
                *([] if bias is None else [bias]),
            ],
        }
