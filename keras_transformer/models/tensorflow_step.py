"""The training step on TensorFlow, in the order of what happens to a batch.

Fill it up, count its real tokens, take the gradient of each micro-batch, sum over the replicas,
update. Imported on that backend alone.
"""

import functools
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import PAD_ID

# Inputs, a structure of int tensors [batch, length], and labels, int [batch, length].
Batch = tuple[Any, Tensor]


class TensorFlowStep(keras.Model):
    """A model whose step weighs every real token of the global batch alike.

    See `TokenNormalizedModel`, which is what to derive a model from.
    """

    micro_batches: int

    def train_step(self, data: Any) -> dict[str, Tensor]:
        """Updates the weights by one batch.

        Args:
            data: Inputs, a structure of tensors `[batch, ...]`, and labels, int `[batch, length]`.

        Returns:
            The metrics of the epoch so far.
        """
        data = _pair(data)
        replica = tf.distribute.get_replica_context()
        # Without this, what depends on no data happens also in the step that finds the data at its
        # end: the count of steps and the random states go on by one.
        with tf.control_dependencies([data[1]]):
            inputs, labels = self._filled(data)
            tokens = replica.all_reduce(tf.distribute.ReduceOp.SUM, _count(labels))
            gradients = self._accumulate(inputs, labels, ops.maximum(tokens, 1.0))
            gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
            self._apply(gradients)
            return self._results()

    def test_step(self, data: Any) -> dict[str, Tensor]:
        """Returns the metrics so far, those of one more batch included."""
        inputs, labels = self._filled(_pair(data))
        logits = self(inputs, training=False)
        loss = self.compute_loss(inputs, labels, logits, training=False)
        self._update_metrics(labels, logits, loss)
        return self._results()

    def _filled(self, batch: Batch) -> Batch:
        """Fills a batch up with padding to as many rows for each micro-batch, at least one.

        A worker whose part of the data has ended before the others' is given nothing.
        """

        def fill(x: Tensor) -> Tensor:
            rows, length = tf.unstack(tf.shape(x))
            wanted = tf.maximum(1, -(-rows // self.micro_batches)) * self.micro_batches
            missing = [[0, wanted - rows], [0, tf.maximum(1, length) - length]]
            return tf.pad(x, missing, constant_values=PAD_ID)

        return keras.tree.map_structure(fill, batch)

    def _accumulate(self, inputs: Any, labels: Tensor, tokens: Tensor) -> list[Tensor]:
        """Sums the gradients of the micro-batches.

        Args:
            inputs: Of one replica.
            labels: Of one replica.
            tokens: Real tokens of the global batch.

        Returns:
            A dense gradient for each trainable variable.
        """
        if self.micro_batches == 1:
            return self._gradients(inputs, labels, tokens)

        def rows_of(index: Tensor, x: Tensor) -> Tensor:
            rows = tf.shape(x)[0] // self.micro_batches
            return x[index * rows : (index + 1) * rows]

        def add(index: Tensor, gradients: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
            part = functools.partial(rows_of, index)
            part_inputs, part_labels = keras.tree.map_structure(part, (inputs, labels))
            new = self._gradients(part_inputs, part_labels, tokens)
            return index + 1, [old + more for old, more in zip(gradients, new, strict=True)]

        start = [tf.zeros(variable.shape) for variable in self.trainable_variables]
        _, gradients = tf.while_loop(
            lambda index, _: index < self.micro_batches, add, (0, start), parallel_iterations=1
        )
        return gradients

    def _gradients(self, inputs: Any, labels: Tensor, tokens: Tensor) -> list[Tensor]:
        """Takes the gradients of a micro-batch, and counts it in the metrics."""
        with tf.GradientTape() as tape:
            logits = self(inputs, training=True)
            loss = self.compute_loss(inputs, labels, logits, training=True)
            share = _count(labels) / tokens
            objective = self.optimizer.scale_loss(loss * share)
        self._update_metrics(labels, logits, loss)
        gradients = tape.gradient(
            objective, [variable.value for variable in self.trainable_variables]
        )
        # Adds up the repeated rows of an embedding's sparse gradient: a sum over replicas, a norm
        # and an accumulation all need them so.
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    def _update_metrics(self, labels: Tensor, logits: Tensor, loss: Tensor) -> None:
        for metric in self.metrics:
            if metric is self._loss_tracker:
                metric.update_state(loss, sample_weight=_count(labels))
            else:
                metric.update_state(labels, logits)

    def _apply(self, gradients: list[Tensor]) -> None:
        optimizer: Any = getattr(self.optimizer, "inner_optimizer", self.optimizer)
        # Keras would sum over the replicas here, after it has clipped.
        optimizer._all_reduce_sum_gradients = lambda gradients_and_variables: (
            gradients_and_variables
        )
        self.optimizer.apply(gradients, self.trainable_variables)

    def _results(self) -> dict[str, Tensor]:
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


def _pair(data: Any) -> Batch:
    """Takes inputs and labels out of what Keras passes on."""
    inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
    if weights is not None:
        raise ValueError(
            "`sample_weight` is not supported: every real token counts alike, and padding does "
            f"not. Received: sample_weight={weights}"
        )
    return inputs, labels


def _count(labels: Tensor) -> Tensor:
    """Counts real tokens, as a float32 scalar."""
    return ops.sum(ops.cast(ops.not_equal(labels, PAD_ID), "float32"))
