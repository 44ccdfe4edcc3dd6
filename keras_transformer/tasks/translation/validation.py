"""The validation corpus of a run: its batches, and its first sentences to be translated.

What the model cannot read or write as a whole is left out of both, so that loss and BLEU are of the
same pairs.
"""

import collections
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import keras

from keras_transformer.data.corpora import Corpus
from keras_transformer.data.tags import tagged
from keras_transformer.runs.run import Run
from keras_transformer.tasks.translation.bleu_callback import ValidationBleu
from keras_transformer.tasks.translation.inputs import (
    validation_batches,
    validation_preprocessor,
)
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.strategy import Replicas
from keras_transformer.translation.results import Attention
from keras_transformer.translation.target_tags import TargetTags
from keras_transformer.translation.translator import Translator

if TYPE_CHECKING:
    import tensorflow as tf

# Sentences that are translated at a stretch: two batches by default.
_STRETCH = 128


class TranslationValidation:
    """What a translator is validated on; see `keras_transformer.training.task.Validation`.

    Args:
        run: The run.
        corpus: The corpus, which is read once.

    Attributes:
        summary: What of the corpus is validated on and what is left out, in a line.

    Raises:
        CorpusError: If the corpus is malformed.
        ValueError: If no pair of it fits the model, or its vocabulary has language tags, sentences
            are to be translated, and `decoding.target_language` is none of them.
    """

    def __init__(self, run: Run, corpus: Corpus) -> None:
        self.run = run
        self.corpus = tagged(corpus) if run.config.data.tags else corpus
        preprocess = validation_preprocessor(run)
        usable = preprocess.new_filter()
        fitting = preprocess.kept_lines(self.corpus, usable)
        self._translated = list(itertools.islice(fitting, run.config.validation.bleu_sentences))
        if self._translated:  # An unknown language is told now, not after the first epoch.
            TargetTags(run.source_tokenizer, run.config.decoding.target_language)
        collections.deque(fitting, maxlen=0)  # To its end, so that all are counted.
        usable.require_any(self.corpus.name, "validate on")
        self.summary = f"Validating on {self.corpus.name}: {usable.summary()}"

    def dataset(self, replicas: Replicas) -> "tf.data.Dataset":
        batches = validation_batches(self.run, self.corpus, replicas)
        return replicas.distribute(batches.dataset)

    def scoring(
        self,
        model: keras.Model,
        average: MovingAverage | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> ValidationBleu | None:
        """Makes the callback that translates with greedy search; None if none is to be.

        Args:
            model: The model.
            average: Put into the model while it translates.
            check: Called between stretches of sentences; may raise an error to end it.
        """
        validation, decoding = self.run.config.validation, self.run.config.decoding.greedy()
        if not self._translated:
            return None
        translator = Translator(model, *self.run.tokenizers, decoding)

        in_model = contextlib.nullcontext if average is None else average.in_model

        def translate(lines: Sequence[str]) -> list[str]:
            with in_model():
                return in_stretches(translator, lines, check)

        def attend(line: str) -> Attention:
            with in_model():
                return translator.attend([line])[0]

        return ValidationBleu(
            translate,
            self._translated,
            validation.samples,
            validation.bleu_tokenize,
            attend if validation.attention else None,
        )


def in_stretches(
    translate: Callable[[Sequence[str]], list[str]],
    lines: Sequence[str],
    check: Callable[[], None],
    size: int = _STRETCH,
) -> list[str]:
    """Translates lines of like lengths together, with a look up after each stretch.

    Args:
        translate: Takes sentences, gives translations.
        lines: The sentences.
        check: Called before each stretch.
        size: Sentences of a stretch.

    Returns:
        The translations, in the order of the lines.
    """
    order = sorted(range(len(lines)), key=lambda index: -len(lines[index]))
    translations = [""] * len(lines)
    for start in range(0, len(order), size):
        check()
        stretch = order[start : start + size]
        for index, text in zip(stretch, translate([lines[i] for i in stretch]), strict=True):
            translations[index] = text
    return translations
