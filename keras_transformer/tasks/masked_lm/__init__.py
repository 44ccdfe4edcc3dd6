"""Pre-training of BERT: documents, masked words and next sentences."""

from keras_transformer.tasks.masked_lm.task import MaskedLM

__all__ = ["MaskedLM"]
