"""Beyond the paper: the decoders of Bahdanau et al. and of Luong et al., position by position.

They differ in which state attends, the one before the step or the one after it, and so in what a
cell reads and in what the logits come from. `step` is one position of any number of hypotheses, as
a search makes it; a call is a loop of steps.
"""

from collections.abc import Mapping
from typing import Any

from keras import ops

from keras_transformer.config.recurrent import RecurrentConfig
from keras_transformer.layers.recurrent import RecurrentPart, RecurrentStack, recur
from keras_transformer.layers.rows import on_rows
from keras_transformer.layers.serialization import register
from keras_transformer.layers.source_attention import Attended, Memory, make_attention
from keras_transformer.tensors import Shape, Tensor


class RecurrentDecoder(RecurrentPart):
    """What both decoders share: cells that start from the encoder, and attention to the source.

    Args:
        config: `RecurrentConfig`.

    Call arguments:
        x: float `[batch, length, embedding_dim]`, the target's embeddings.
        memory: Of the source, from `attention.memory`.
        states: Hidden states before the first position, from `initial_states`.
        training: Whether hard alignments draw.
        return_attention: Whether to return the attention weights and their logits as well.

    Returns:
        A tuple of the output of each position, for `read_out`, float `[batch, length, width]`, and
        with `return_attention` of the weights and their logits, float
        `[batch, length, source_length]`.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.cells = RecurrentStack(self.config, dtype=self.dtype_policy, name="cells")
        self.attention = make_attention(self.config, dtype=self.dtype_policy, name="attention")
        width = self.cells.num_states * self.config.decoder_units
        self.start = self._dense(width, "tanh", "start")

    def _build(self, cells_width: int) -> None:
        config = self.config
        self.start.build((None, config.encoder_units))
        self.cells.build((None, None, cells_width))
        self.attention.build((None, None, config.decoder_units), (None, None, self.source_width))

    @property
    def source_width(self) -> int:
        """Width of an annotation, and of a context vector."""
        return 2 * self.config.encoder_units

    @property
    def output_width(self) -> int:
        """Width of an output of `step`."""
        raise NotImplementedError

    def initial_states(self, backwards: Tensor) -> list[Tensor]:
        """Computes s_0 = tanh(W_s h_1 backwards), for each tensor of the hidden states.

        Args:
            backwards: float `[batch, encoder_units]`, the encoder's state backwards at the first
                token.

        Returns:
            Hidden states, `[batch, 1, decoder_units]` each.
        """
        start = ops.expand_dims(self.start(backwards), 1)
        return list(ops.split(start, self.cells.num_states, axis=-1))

    def call(
        self,
        x: Tensor,
        memory: Memory,
        states: list[Tensor],
        training: bool | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, ...]:
        def step(x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            *states, position = states
            output, attended, states = self.step(x, states, memory, position, training)
            if return_attention:
                # Keras's loop has one output; logits are float32 in any precision.
                parts = (output, attended.weights, attended.logits)
                output = ops.concatenate([ops.cast(part, "float32") for part in parts], -1)
            return output, [*states, position + 1]

        outputs = recur(step, x, [*states, ops.zeros((1, 1), "int32")])
        if not return_attention:
            return (outputs,)
        output, attention = outputs[:, :, : self.output_width], outputs[:, :, self.output_width :]
        output = ops.cast(output, x.dtype)
        source_length = ops.shape(memory["attention_mask"])[-1]
        return output, attention[:, :, :source_length], attention[:, :, source_length:]

    def step(
        self,
        x: Tensor,
        states: list[Tensor],
        memory: Memory,
        position: Tensor,
        training: bool | None = None,
    ) -> tuple[Tensor, Attended, list[Tensor]]:
        """Makes one step of each hypothesis.

        Args:
            x: float `[batch, queries, embedding_dim]`, the newest tokens' embeddings.
            states: Hidden states before the step, `[batch, queries, units]` each.
            memory: Of the source, from `attention.memory`.
            position: int32, broadcastable to `[batch, queries]`, of these tokens in the target.
            training: Whether hard alignments draw.

        Returns:
            An output for `read_out`, float `[batch, queries, output_width]`; what was attended to;
            and the hidden states after the step.
        """
        raise NotImplementedError

    def read_out(self, x: Tensor, outputs: Tensor) -> Tensor:
        """Computes what gives the logits, of any number of positions.

        Args:
            x: As in a call.
            outputs: From a call or from `step`.

        Returns:
            float `[batch, length, embedding_dim]`.
        """
        raise NotImplementedError


@register
class BahdanauDecoder(RecurrentDecoder):
    """Attends with the state before the step; cell and logits read the context.

        c_i = sum over j of alpha_ij h_j    of the score of s_(i-1) with h_j
        s_i = f([E y_(i-1); c_i], s_(i-1))
        t_i = maxout(U_o s_i + V_o E y_(i-1) + C_o c_i)    of pairs; logits: W_o t_i

    A deep output with one maxout layer. Appendix A.2.2 has s_(i-1) in it, and Equation 4 has s_i,
    which is taken here: only so the last word reaches the logits through the cell.

    Without attention c_i is the same at each step, and this is the decoder of Cho et al.

    Example:
        >>> decoder = BahdanauDecoder(RecurrentConfig(encoder_units=32))
        >>> decoder.build()
        >>> annotations, real = keras.ops.ones((1, 5, 64)), np.ones((1, 5), bool)
        >>> memory = decoder.attention.memory(annotations, annotations[:, -1], real)
        >>> x, states = keras.ops.ones((1, 4, 128)), decoder.initial_states(keras.ops.ones((1, 32)))
        >>> (outputs,) = decoder(x, memory, states)
        >>> tuple(decoder.read_out(x, outputs).shape)
        (1, 4, 128)

    Reference:
        "Neural Machine Translation by Jointly Learning to Align and Translate", arXiv 1409.0473,
        3.1 and appendix A.2.2; without attention, "Learning Phrase Representations using RNN
        Encoder-Decoder", arXiv 1406.1078.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.deep_output = self._dense(2 * self.config.embedding_dim, None, "deep_output")

    @property
    def output_width(self) -> int:
        return self.config.decoder_units + self.source_width

    def build(self, *shapes: Shape) -> None:
        width = self.config.embedding_dim
        self._build(cells_width=width + self.source_width)
        self.deep_output.build((None, width + self.output_width))

    def step(
        self,
        x: Tensor,
        states: list[Tensor],
        memory: Memory,
        position: Tensor,
        training: bool | None = None,
    ) -> tuple[Tensor, Attended, list[Tensor]]:
        query = self.cells.last_output(states)
        attended = self.attention(query, memory, position, training=training)
        output, states = self.cells(ops.concatenate([x, attended.context], -1), states)
        return ops.concatenate([output, attended.context], -1), attended, states

    def read_out(self, x: Tensor, outputs: Tensor) -> Tensor:
        hidden = on_rows(self.deep_output, ops.concatenate([outputs, x], -1))
        return ops.max(ops.stack(ops.split(hidden, 2, axis=-1)), axis=0)


@register
class LuongDecoder(RecurrentDecoder):
    """Attends with the state after the step; logits read the attentional vector alone.

        h_t = f([E y_(t-1); a_(t-1)], h_(t-1))    without input feeding: f(E y_(t-1), h_(t-1))
        c_t = sum over s of alpha_ts h_s    of the score of h_t with h_s
        a_t = tanh(W_c [c_t; h_t])    logits: W_s a_t

    a_t, which the paper writes as h with a tilde, has the width of an embedding.

    Example:
        >>> decoder = LuongDecoder(RecurrentConfig.preset("rnn_luong", encoder_units=32))
        >>> decoder.build()
        >>> annotations, real = keras.ops.ones((1, 5, 64)), np.ones((1, 5), bool)
        >>> memory = decoder.attention.memory(annotations, annotations[:, -1], real)
        >>> x, states = keras.ops.ones((1, 4, 128)), decoder.initial_states(keras.ops.ones((1, 32)))
        >>> (outputs,) = decoder(x, memory, states)
        >>> tuple(decoder.read_out(x, outputs).shape)
        (1, 4, 128)

    Reference:
        "Effective Approaches to Attention-based Neural Machine Translation", arXiv 1508.04025,
        Equation 5; of input feeding, 3.3 and Figure 4.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.attentional = self._dense(self.config.embedding_dim, "tanh", "attentional")

    @property
    def output_width(self) -> int:
        return self.config.embedding_dim

    def build(self, *shapes: Shape) -> None:
        width = self.config.embedding_dim
        self._build(cells_width=2 * width if self.config.input_feeding else width)
        self.attentional.build((None, self.source_width + self.config.decoder_units))

    def initial_states(self, backwards: Tensor) -> list[Tensor]:
        states = super().initial_states(backwards)
        if self.config.input_feeding:
            fed = (ops.shape(backwards)[0], 1, self.config.embedding_dim)
            states.append(ops.zeros(fed, states[0].dtype))
        return states

    def step(
        self,
        x: Tensor,
        states: list[Tensor],
        memory: Memory,
        position: Tensor,
        training: bool | None = None,
    ) -> tuple[Tensor, Attended, list[Tensor]]:
        if self.config.input_feeding:
            *states, fed = states
            x = ops.concatenate([x, fed], -1)
        output, states = self.cells(x, states)
        attended = self.attention(output, memory, position, training=training)
        attentional = on_rows(self.attentional, ops.concatenate([attended.context, output], -1))
        if self.config.input_feeding:
            states = [*states, attentional]
        return attentional, attended, states

    def read_out(self, x: Tensor, outputs: Tensor) -> Tensor:
        return outputs


_DECODERS = {"bahdanau": BahdanauDecoder, "none": BahdanauDecoder, "luong": LuongDecoder}


def make_decoder(config: RecurrentConfig, **kwargs: Any) -> RecurrentDecoder:
    """Makes the decoder that `config.attention` names.

    Args:
        config: The shape.
        **kwargs: Of `keras.layers.Layer`.

    Example:
        >>> type(make_decoder(RecurrentConfig(attention="luong"))).__name__
        'LuongDecoder'
    """
    return _DECODERS[config.attention](config, **kwargs)
