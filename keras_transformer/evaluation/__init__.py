"""How good translations are."""

from keras_transformer.evaluation.bleu import CorpusScore, score_corpus

__all__ = ["CorpusScore", "score_corpus"]
