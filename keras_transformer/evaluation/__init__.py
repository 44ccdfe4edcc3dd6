"""How good translations are, and whether one system's are better than another's."""

from keras_transformer.evaluation.bleu import CorpusScore, require_tokenizer, score_corpus
from keras_transformer.evaluation.evaluation import Evaluation, System, evaluate
from keras_transformer.evaluation.page import as_page
from keras_transformer.evaluation.slices import count_words
from keras_transformer.evaluation.text import as_text

__all__ = [
    "CorpusScore",
    "Evaluation",
    "System",
    "as_page",
    "as_text",
    "count_words",
    "evaluate",
    "require_tokenizer",
    "score_corpus",
]
