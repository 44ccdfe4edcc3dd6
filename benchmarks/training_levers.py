"""Single choices in this package's training step, taken back or tried: each is a peer of `ours`."""

import dataclasses
from collections.abc import Callable, Iterator
from unittest import mock

import keras
from keras import ops
from training_peers import Arrays, Options, Train, fitted, ours, prefetched

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.rows import as_rows
from keras_transformer.text.vocabulary import PAD_ID


def compiled(config: TransformerConfig, options: Options, **training) -> keras.Model:
    """Makes a model that is ready for `fit`."""
    model = Transformer(config, dtype=options.precision)
    return compile_model(model, TrainingConfig(**training))


def separate_projections(config: TransformerConfig, options: Options) -> Train:
    """Queries, keys and values by a product each, instead of one for all that read the same."""

    class Projections(keras.layers.Layer):
        def __init__(self, widths, **kwargs):
            super().__init__(**kwargs)
            self.parts = [keras.layers.Dense(width, use_bias=False) for width in widths]

        def build(self, input_shape):
            for part in self.parts:
                part.build(input_shape)

    def projection(self, *head_dims, name):
        return Projections([self.num_heads * dim for dim in head_dims], name=name)

    def project(self, projection, x, *head_dims):
        length = ops.shape(x)[1]
        return [
            ops.reshape(part(as_rows(x)), (-1, length, self.num_heads, dim))
            for part, dim in zip(projection.parts, head_dims, strict=True)
        ]

    patches = mock.patch.multiple(MultiHeadAttention, _projection=projection, _project=project)
    with patches:
        run = ours(config, options)

    def train(batches):
        # The first call traces.
        with patches:
            return run(batches)

    return train


def plain_loss(config: TransformerConfig, options: Options) -> Train:
    """The loss differentiated by the backend, and metrics of their own."""

    def cross_entropy(labels, logits, epsilon=0.0):
        at_label = ops.take_along_axis(logits, ops.expand_dims(labels, -1), axis=-1)
        loss = ops.logsumexp(logits, axis=-1) - (1 - epsilon) * ops.squeeze(at_label, -1)
        return loss - epsilon * ops.mean(logits, axis=-1)

    def mean(values, labels):
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(values * real) / ops.maximum(ops.sum(real), 1.0)

    def loss(labels, logits):
        return mean(cross_entropy(labels, logits, options.schedule.label_smoothing), labels)

    def accuracy(labels, logits):
        best = ops.cast(ops.argmax(logits, axis=-1), "int32")
        return mean(ops.cast(ops.equal(best, labels), "float32"), labels)

    def entropy(labels, logits):
        return mean(cross_entropy(labels, logits), labels)

    model = compiled(config, options)
    model.compile(model.optimizer, loss, metrics=[accuracy, entropy], jit_compile=False)
    return fitted(model)


def without_metrics(config: TransformerConfig, options: Options) -> Train:
    """No accuracy and no perplexity."""
    model = compiled(config, options)
    model.compile(model.optimizer, model.loss, jit_compile=False)
    return fitted(model)


def without_dropout(config: TransformerConfig, options: Options) -> Train:
    """No dropout, to see what it takes."""
    return ours(dataclasses.replace(config, dropout=0.0), options)


def xla(config: TransformerConfig, options: Options) -> Train:
    """The step compiled by XLA, once for each shape."""
    return fitted(compiled(config, options, jit_compile=True))


def steps_per_execution(config: TransformerConfig, options: Options, steps: int = 8) -> Train:
    """Several steps in one call; the batches must be a multiple of it."""
    model = compiled(config, options)
    model.steps_per_execution = steps
    return fitted(model)


@dataclasses.dataclass
class Anew:
    """Batches that are made at each iteration."""

    make: Callable[[], Iterator[Arrays]]

    def __iter__(self):
        return self.make()


def batches_ahead(config: TransformerConfig, options: Options) -> Train:
    """Batches tokenized and padded while training, a few ahead of the step."""
    batches = Anew(options.make_batches)
    return fitted(compiled(config, options), lambda _: prefetched(batches))


def batches_in_step(config: TransformerConfig, options: Options) -> Train:
    """Batches tokenized and padded when the step asks for them."""
    return fitted(
        compiled(config, options), lambda _: prefetched(Anew(options.make_batches), ahead=0)
    )
