"""How good translations are."""

from keras_transformer.evaluation.bleu import CorpusScore, require_tokenizer, score_corpus

__all__ = ["CorpusScore", "require_tokenizer", "score_corpus"]
