"""The training step: the gradient of the loss per real token of the global batch (Section 5.4).

Whatever splits a batch, replicas, micro-batches or padding, leaves the gradient as it is. Keras's
own step takes the mean of the replicas' means, of which each may cover another number of tokens,
clips each replica's gradient before their sum, and accumulates micro-batches by their number.
"""

import functools

import keras
from keras import ops


class TokenNormalizedModel(keras.Model):
    """A model whose `fit` and `evaluate` weigh every real token of the global batch alike.

    For a loss that is a mean over real tokens, such as `LabelSmoothedCrossEntropy`. Each part of a
    batch counts by its share of the real tokens. Gradients are summed over all replicas before the
    optimizer sees them, so that clipping and the check for overflow see the whole.

    On another backend than TensorFlow the step is Keras's: there a batch that is spread over
    devices is one array, so its mean is the global one already.

    Attributes:
        micro_batches: Parts that a replica's batch is cut into along its rows, which take their
            turn in memory.
        pad_id: The label of positions that do not count.
    """

    micro_batches = 1
    pad_id = 0

    if keras.backend.backend() == "tensorflow":

        def train_step(self, data):
            """Updates the weights by one batch; returns the metrics of the epoch so far.

            Args:
                data: Inputs, a structure of tensors `[batch, ...]`, and labels, int
                    `[batch, length]`.
            """
            import tensorflow as tf

            data = self._pairs(data)
            replica = tf.distribute.get_replica_context()
            # Without this, what depends on no data happens also in the step that finds the data at
            # its end: the count of steps and the random states go on by one.
            with tf.control_dependencies([data[1]]):
                inputs, labels = self._filled(data)
                tokens = replica.all_reduce(tf.distribute.ReduceOp.SUM, self._count(labels))
                gradients = self._accumulate(inputs, labels, ops.maximum(tokens, 1.0))
                gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
                self._apply(gradients)
                return self._results()

        def test_step(self, data):
            """Returns the metrics so far, those of one more batch included."""
            inputs, labels = self._filled(self._pairs(data))
            logits = self(inputs, training=False)
            loss = self.compute_loss(inputs, labels, logits, training=False)
            self._update_metrics(labels, logits, loss)
            return self._results()

        def _pairs(self, data):
            """Takes inputs and labels out of what Keras passes on."""
            inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
            if weights is not None:
                raise ValueError(
                    "`sample_weight` is not supported: every real token counts alike, and padding "
                    f"does not. Received: sample_weight={weights}"
                )
            return inputs, labels

        def _accumulate(self, inputs, labels, tokens):
            """Sums the gradients of the micro-batches.

            Args:
                inputs: Of one replica.
                labels: Of one replica.
                tokens: Real tokens of the global batch.

            Returns:
                A dense gradient for each trainable variable.
            """
            import tensorflow as tf

            if self.micro_batches == 1:
                return self._gradients(inputs, labels, tokens)

            def rows_of(index, x):
                rows = tf.shape(x)[0] // self.micro_batches
                return x[index * rows : (index + 1) * rows]

            def add(index, gradients):
                part = keras.tree.map_structure(functools.partial(rows_of, index), (inputs, labels))
                new = self._gradients(*part, tokens)
                return index + 1, [old + more for old, more in zip(gradients, new, strict=True)]

            start = [tf.zeros(variable.shape) for variable in self.trainable_variables]
            _, gradients = tf.while_loop(
                lambda index, _: index < self.micro_batches, add, (0, start), parallel_iterations=1
            )
            return gradients

        def _filled(self, data):
            """Fills a batch up with padding to as many rows for each micro-batch, at least one.

            A worker whose part of the data has ended before the others' is given nothing.
            """
            import tensorflow as tf

            def fill(x):
                rows, length = tf.unstack(tf.shape(x))
                wanted = tf.maximum(1, -(-rows // self.micro_batches)) * self.micro_batches
                missing = [[0, wanted - rows], [0, tf.maximum(1, length) - length]]
                return tf.pad(x, missing, constant_values=self.pad_id)

            return keras.tree.map_structure(fill, data)

        def _gradients(self, inputs, labels, tokens):
            import tensorflow as tf

            with tf.GradientTape() as tape:
                logits = self(inputs, training=True)
                loss = self.compute_loss(inputs, labels, logits, training=True)
                share = self._count(labels) / tokens
                objective = self.optimizer.scale_loss(loss * share)
            self._update_metrics(labels, logits, loss)
            gradients = tape.gradient(
                objective, [variable.value for variable in self.trainable_variables]
            )
            # Adds up the repeated rows of an embedding's sparse gradient: a sum over replicas, a
            # norm and an accumulation all need them so.
            return [tf.convert_to_tensor(gradient) for gradient in gradients]

        def _apply(self, gradients):
            optimizer = getattr(self.optimizer, "inner_optimizer", self.optimizer)
            # Keras would sum over the replicas here, after it has clipped.
            optimizer._all_reduce_sum_gradients = lambda gradients_and_variables: (
                gradients_and_variables
            )
            self.optimizer.apply(gradients, self.trainable_variables)

        def _count(self, labels):
            return ops.sum(ops.cast(ops.not_equal(labels, self.pad_id), "float32"))

        def _update_metrics(self, labels, logits, loss):
            for metric in self.metrics:
                if metric is self._loss_tracker:
                    metric.update_state(loss, sample_weight=self._count(labels))
                else:
                    metric.update_state(labels, logits)

        def _results(self):
            import tensorflow as tf

            results = self.get_metrics_result()
            workers = tf.distribute.MultiWorkerMirroredStrategy
            if isinstance(tf.distribute.get_strategy(), workers):
                # Keras takes the mean of the workers' results along their first axis.
                results = keras.tree.map_structure(lambda x: ops.reshape(x, (1,)), results)
            return results

        def _maybe_symbolic_build(self, iterator=None, data_batch=None):
            # All variables are there. Keras would take a batch of the data and, between workers,
            # reduce its parts of unlike shapes, which fails.
            pass
