"""Search for a translation, as pure functions over a step callback."""

from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy_search
from keras_transformer.decoding.hypotheses import Hypotheses
from keras_transformer.decoding.sampling import sample
from keras_transformer.decoding.search import search
from keras_transformer.decoding.search_translations import search_translations

__all__ = [
    "Hypotheses",
    "beam_search",
    "greedy_search",
    "sample",
    "search",
    "search_translations",
]
