"""The training regime of Section 5.

What is imported here runs on any Keras backend; `loop` and `callbacks` need TensorFlow and are
imported where they are used.
"""

from keras_transformer.training.adam import FusedAdam
from keras_transformer.training.loss import LabelSmoothedCrossEntropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy
from keras_transformer.training.optimizer import compile_model, make_optimizer
from keras_transformer.training.schedule import TransformerSchedule

__all__ = [
    "FusedAdam",
    "LabelSmoothedCrossEntropy",
    "Perplexity",
    "TokenAccuracy",
    "TransformerSchedule",
    "compile_model",
    "make_optimizer",
]
