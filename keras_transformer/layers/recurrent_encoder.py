"""Beyond the paper: the encoder that recurrent decoders read, forwards and backwards."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.config.recurrent import RecurrentConfig
from keras_transformer.layers.recurrent import RecurrentPart
from keras_transformer.layers.serialization import register
from keras_transformer.tensors import Shape, Tensor

_LAYERS = {"gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


@register
class RecurrentEncoder(RecurrentPart):
    """Gives each token an annotation of what comes before and after it.

        h_j = [h_j forwards; h_j backwards]

    Args:
        config: `RecurrentConfig`.

    Call arguments:
        x: float `[batch, length, embedding_dim]`.
        real: bool `[batch, length]`, which positions are no padding; padding comes last.
        training: Whether dropout is active.

    Returns:
        The annotations, float `[batch, length, 2 * encoder_units]`, zero at padding; and what
        either direction of the last layer is left with when it has read all: forwards at the last
        token, backwards at the first one, both float `[batch, encoder_units]`.

    Example:
        >>> encoder = RecurrentEncoder(RecurrentConfig(encoder_units=64))
        >>> x, real = keras.ops.ones((1, 3, 32)), np.array([[True, True, False]])
        >>> annotations, forwards, backwards = encoder(x, real)
        >>> tuple(annotations.shape), tuple(backwards.shape)
        ((1, 3, 128), (1, 64))

    Reference:
        Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate",
        arXiv 1409.0473, appendix A.2.1; of the GRU, see `RecurrentStack`.
    """

    def __init__(self, config: RecurrentConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        # Named, so that the paths of variables are the same in every model.
        self.layers = [
            keras.layers.Bidirectional(
                _LAYERS[self.config.cell](
                    self.config.encoder_units,
                    return_sequences=True,
                    return_state=True,
                    dtype=self.dtype_policy,
                    name="rnn",
                ),
                dtype=self.dtype_policy,
                name=f"layer_{i}",
            )
            for i in range(self.config.num_layers)
        ]
        self.dropout = keras.layers.Dropout(self.config.embedding_dropout, dtype=self.dtype_policy)

    def build(self, x_shape: Shape, real_shape: Shape | None = None) -> None:
        for layer in self.layers:
            layer.build(x_shape)
            x_shape = (*x_shape[:-1], 2 * self.config.encoder_units)

    def call(
        self, x: Tensor, real: Tensor, training: bool | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        # cuDNN takes no sentence of padding alone, with which a batch may be filled up.
        read = ops.logical_or(real, ops.equal(ops.arange(ops.shape(real)[1]), 0))
        kept = ops.cast(ops.expand_dims(real, -1), self.compute_dtype)
        states: Sequence[Tensor] = ()
        for index, layer in enumerate(self.layers):
            for direction in (layer.forward_layer, layer.backward_layer):
                # What is exported must run where there is no GPU.
                direction.use_cudnn = "auto" if training else False
            below = self.dropout(x, training=training) if index else x
            output, *states = layer(below, mask=read)
            # The product has none of the implicit masks that Keras gives its layers' outputs.
            output = output * kept
            x = output + x if self.config.residual and index else output
        return x, states[0], states[len(states) // 2]

    def compute_output_shape(
        self, x_shape: Shape, real_shape: Shape | None = None
    ) -> tuple[Shape, Shape, Shape]:
        units = self.config.encoder_units
        return (*x_shape[:-1], 2 * units), (x_shape[0], units), (x_shape[0], units)
