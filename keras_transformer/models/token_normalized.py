"""The training step: the gradient of the loss per real token of the global batch.

Whatever splits a batch, replicas, micro-batches or padding, leaves the gradient as it is. Keras's
own step takes the mean of the replicas' means, of which each may cover another number of tokens,
clips each replica's gradient before their sum, and accumulates micro-batches by their number.
"""

from typing import Any

import keras

Step: Any
if keras.backend.backend() == "tensorflow":
    from keras_transformer.models.tensorflow_step import TensorFlowStep as Step
else:
    # There a batch that is spread over devices is one array, so the mean that Keras takes is the
    # global one already.
    Step = keras.Model


class TokenNormalizedModel(Step):
    """A model whose `fit` and `evaluate` weigh every real token of the global batch alike.

    For a loss that is a mean over real tokens, such as `LabelSmoothedCrossEntropy`, and labels that
    are 0 at padding. Each part of a batch counts by its share of the real tokens. Gradients are
    summed over all replicas before the optimizer sees them, so that clipping and the check for
    overflow see the whole.

    Attributes:
        micro_batches: Parts that a replica's batch is cut into along its rows, which take their
            turn in memory; 1 on another backend than TensorFlow.
    """

    micro_batches = 1
