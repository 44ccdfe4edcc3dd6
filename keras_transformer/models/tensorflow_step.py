"""The training step on TensorFlow, in the order of what happens to a batch.

Fill it up, weigh its real tokens, take the gradient of each micro-batch, sum over the replicas,
update. Imported on that backend alone.
"""

import functools
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from keras_transformer.models.token_weights import token_weights
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import PAD_ID

# Inputs, a structure of int tensors [batch, length]; labels, int [batch, length], or a mapping of
# those of several outputs; and the weight of each pair, float [batch], or None.
Batch = tuple[Any, Any, Tensor | None]


class TensorFlowStep(keras.Model):
    """A model whose step weighs every real token of the global batch alike.

    See `TokenNormalizedModel`, which is what to derive a model from.
    """

    micro_batches: int

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles as `keras.Model.compile` does, with a loss or a mapping of those of outputs."""
        super().compile(*args, **kwargs)
        if isinstance(self.loss, Mapping):
            # Keras's own takes one mean over what is given to it. Past Keras's `__setattr__`, which
            # would make it a metric beside the loss.
            object.__setattr__(self, "_loss_tracker", SumOfMeans(len(self.loss), name="loss"))

    def train_step(self, data: Any) -> dict[str, Tensor]:
        """Updates the weights by one batch.

        Args:
            data: Inputs, a structure of tensors `[batch, ...]`; labels, int `[batch, length]`, or a
                mapping of those of several outputs; and a weight for each pair, `[batch]`, if pairs
                do not count alike.

        Returns:
            The metrics of the epoch so far, over all replicas.
        """
        data = keras.utils.unpack_x_y_sample_weight(data)
        replica = tf.distribute.get_replica_context()
        # Without this, what depends on no data happens also in the step that finds the data at its
        # end: the count of steps and the random states go on by one.
        with tf.control_dependencies(keras.tree.flatten(data[1])):
            batch = self._filled(data)
            total = replica.all_reduce(tf.distribute.ReduceOp.SUM, _weights(batch))
            gradients = self._accumulate(batch, total)
            # In one call, so that the sums of the metrics cost no wait of their own.
            gradients, sums = replica.all_reduce(
                tf.distribute.ReduceOp.SUM, (gradients, self._sums())
            )
            self._apply(gradients)
            return self._results(sums)

    def test_step(self, data: Any) -> dict[str, Tensor]:
        """Returns the metrics so far, those of one more batch included."""
        batch = self._filled(keras.utils.unpack_x_y_sample_weight(data))
        logits = self(batch[0], training=False)
        self._update_metrics(batch, logits, self.compute_losses(*batch, logits, training=False))
        replica = tf.distribute.get_replica_context()
        return self._results(replica.all_reduce(tf.distribute.ReduceOp.SUM, self._sums()))

    def _filled(self, batch: Batch) -> Batch:
        """Fills a batch up with padding to as many rows for each micro-batch, at least one.

        A worker whose part of the data has ended before the others' is given nothing.
        """

        def fill(x: Tensor | None) -> Tensor | None:
            if x is None:
                return None
            rows, *lengths = tf.unstack(tf.shape(x))
            wanted = tf.maximum(1, -(-rows // self.micro_batches)) * self.micro_batches
            missing = [[0, wanted - rows]]
            missing += [[0, tf.maximum(1, length) - length] for length in lengths]
            return tf.pad(x, missing, constant_values=PAD_ID)

        return keras.tree.map_structure(fill, batch)

    def _accumulate(self, batch: Batch, total: Tensor) -> list[Tensor]:
        """Sums the gradients of the micro-batches.

        Args:
            batch: Of one replica.
            total: Real labels of each output in the global batch, or the sums of their weights.

        Returns:
            A dense gradient for each trainable variable.
        """
        if self.micro_batches == 1:
            return self._gradients(batch, total)

        def rows_of(index: Tensor, x: Tensor | None) -> Tensor | None:
            if x is None:
                return None
            rows = tf.shape(x)[0] // self.micro_batches
            return x[index * rows : (index + 1) * rows]

        def add(index: Tensor, gradients: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            part = keras.tree.map_structure(functools.partial(rows_of, index), batch)
            new = self._gradients(part, total)
            return index + 1, [old + more for old, more in zip(gradients, new, strict=True)]

        start = [tf.zeros(variable.shape) for variable in self.trainable_variables]
        _, gradients = tf.while_loop(
            lambda index, _: index < self.micro_batches, add, (0, start), parallel_iterations=1
        )
        return gradients

    def _gradients(self, batch: Batch, total: Tensor) -> list[Tensor]:
        """Takes the gradients of a micro-batch, and counts it in the metrics."""
        with tf.GradientTape() as tape:
            logits = self(batch[0], training=True)
            losses = self.compute_losses(*batch, logits, training=True)
            shares = ops.divide_no_nan(_weights(batch), total)
            objective = self.optimizer.scale_loss(ops.sum(losses * shares))
        self._update_metrics(batch, logits, losses)
        gradients = tape.gradient(
            objective,
            [variable.value for variable in self.trainable_variables],
            # Of what no output reads, such as a pooled vector where tokens alone are asked for.
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        # Adds up the repeated rows of an embedding's sparse gradient: a sum over replicas, a norm
        # and an accumulation all need them so.
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    def compute_losses(
        self, inputs: Any, labels: Any, weights: Tensor | None, logits: Any, training: bool
    ) -> Tensor:
        """Returns the loss of each output, float32 `[outputs]`; their sum is what is minimized."""
        if not isinstance(labels, Mapping):
            loss = self.compute_loss(inputs, labels, logits, weights, training=training)
            return ops.expand_dims(loss, 0)
        first, *others = (
            self.loss[name](labels[name], logits[name], weights) for name in sorted(labels)
        )
        for loss in self.losses:  # Those that layers add.
            first += ops.sum(ops.cast(loss, first.dtype))
        return ops.stack([first, *others])

    def _aggregate_additional_loss(self, loss: Tensor) -> Tensor:
        # Keras would divide by the number of replicas; their shares of the labels do so already.
        return ops.sum(ops.cast(loss, "float32"))

    def _update_metrics(self, batch: Batch, logits: Any, losses: Tensor) -> None:
        _, labels, weights = batch
        for metric in self.metrics:
            if metric is self._loss_tracker:
                metric.update_state(losses, sample_weight=_weights(batch))
            else:
                metric.update_state(labels, logits, sample_weight=weights)

    def _apply(self, gradients: list[Tensor]) -> None:
        optimizer: Any = getattr(self.optimizer, "inner_optimizer", self.optimizer)
        # Keras would sum over the replicas here, after it has clipped.
        optimizer._all_reduce_sum_gradients = lambda gradients_and_variables: (
            gradients_and_variables
        )
        self.optimizer.apply(gradients, self.trainable_variables)

    def _sums(self) -> list[Tensor]:
        """Returns the sums behind the metrics, those of this replica."""
        # The values: `all_reduce` takes a distributed variable for a place to reduce to.
        return [tf.identity(variable.value) for variable in self.metrics_variables]

    def _results(self, sums: list[Tensor]) -> dict[str, Tensor]:
        """Returns the metrics that follow from the sums of all replicas.

        Keras shows the mean of what the replicas return. That of their own means is another number
        than the mean over all tokens, and a replica without tokens has none.
        """
        with keras.StatelessScope(zip(self.metrics_variables, sums, strict=True)):
            results = self.get_metrics_result()
        workers = tf.distribute.MultiWorkerMirroredStrategy
        if isinstance(tf.distribute.get_strategy(), workers):
            # Keras takes the mean of the workers' results along their first axis.
            results = keras.tree.map_structure(lambda x: ops.reshape(x, (1,)), results)
        return results

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        # All variables are there. Keras would take a batch of the data and, between workers, reduce
        # its parts of unlike shapes, which fails.
        pass


class SumOfMeans(keras.metrics.Metric):
    """The sum of the means of several losses, of which each has weights of its own.

    Args:
        outputs: Number of losses.
        name: Of the metric.
    """

    def __init__(self, outputs: int, name: str) -> None:
        super().__init__(name=name, dtype="float32")
        self.sums = self.add_variable((2, outputs), "zeros", name="sums")

    def update_state(self, losses: Tensor, sample_weight: Tensor) -> None:
        """Adds losses, each with its weight, both `[outputs]`."""
        self.sums.assign_add(ops.stack([losses * sample_weight, sample_weight]))

    def result(self) -> Tensor:
        return ops.sum(ops.divide_no_nan(self.sums[0], self.sums[1]))

    def reset_state(self) -> None:
        self.sums.assign(ops.zeros_like(self.sums))


def _weights(batch: Batch) -> Tensor:
    """Counts the real labels of each output, each by the weight of its pair, float32 `[outputs]`.

    Outputs that have names are in the order of these.
    """
    _, labels, weights = batch
    return ops.stack([ops.sum(token_weights(y, weights)) for y in keras.tree.flatten(labels)])
