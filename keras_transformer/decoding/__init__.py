"""Search for a translation, as pure functions over a step callback."""

from keras_transformer.decoding.greedy import greedy_search

__all__ = ["greedy_search"]
