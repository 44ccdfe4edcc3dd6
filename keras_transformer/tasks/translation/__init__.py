"""Translation: parallel corpora, a loss per real target token, judged by BLEU."""

from keras_transformer.tasks.translation.task import Translation

__all__ = ["Translation"]
