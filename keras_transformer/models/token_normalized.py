"""The base class of models that train per real token; on TensorFlow, by `tensorflow_step.py`.

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

    With `sample_weight`, a weight for each pair, a token counts by the weight of its pair: the loss
    is the weighted sum over the sum of the tokens' weights, as if a pair of weight 2 were there
    twice. Metrics are weighted where `compile` has them as `weighted_metrics`.

    Attributes:
        micro_batches: Parts that a replica's batch is cut into along its rows, which take their
            turn in memory; 1 on another backend than TensorFlow.
    """

    micro_batches = 1

    def fit(self, *args: Any, class_weight: Any = None, **kwargs: Any) -> keras.callbacks.History:
        """Trains as `keras.Model.fit` does, without `class_weight`.

        Raises:
            ValueError: If there are weights of classes.
        """
        _require_none(class_weight)
        return super().fit(*args, **kwargs)

    def train_on_batch(self, *args: Any, class_weight: Any = None, **kwargs: Any) -> Any:
        """Trains as `keras.Model.train_on_batch` does, without `class_weight`.

        Raises:
            ValueError: If there are weights of classes.
        """
        _require_none(class_weight)
        return super().train_on_batch(*args, **kwargs)


def _require_none(class_weight: Any) -> None:
    if class_weight is not None:
        raise ValueError(
            "`class_weight` must be None: Keras would make one weight a pair of it, from the place "
            "of its highest label. Give pairs or tokens weights by `sample_weight`. Received: "
            f"class_weight={class_weight}"
        )
