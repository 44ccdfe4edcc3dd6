"""The validation corpus of a run: its batches, and its first sentences to be translated."""

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import keras

from keras_transformer.data.corpora import Corpus
from keras_transformer.export.translator import Translator
from keras_transformer.training.callbacks import ValidationBleu
from keras_transformer.training.inputs import make_batches, of_unknown_length, open_of
from keras_transformer.training.moving_average import MovingAverage
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.run import Run
from keras_transformer.training.strategy import ONE_DEVICE, Replicas

if TYPE_CHECKING:
    import tensorflow as tf

# Sentences that are translated at a stretch: two batches by default.
_STRETCH = 128


class Validation:
    """What a run is validated on.

    Args:
        run: The run; its configuration has a validation corpus.
        replicas: What evaluates the model.

    Raises:
        OSError: If the corpus is not there.

    Example:
        >>> metrics = Validation(run).score(run.checkpoints.best().load())
        >>> sorted(metrics)
        ['val_accuracy', 'val_bleu', 'val_chrf', 'val_loss', 'val_perplexity']
    """

    def __init__(self, run: Run, replicas: Replicas = ONE_DEVICE):
        self.run = run
        self.replicas = replicas
        self.corpus: Corpus = open_of(run.config.data, run.config.data.valid)

    def dataset(self) -> "tf.data.Dataset":
        """Returns the batches of the whole corpus."""
        config, tokenizers = self.run.config, self.run.tokenizers
        batches = make_batches(
            config, self.corpus, tokenizers, self.run.plan, shuffle=False, replicas=self.replicas
        )
        return self.replicas.distribute(batches.dataset)

    def bleu(
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
        training, decoding = self.run.config.training, self.run.config.decoding.greedy()
        pairs = list(itertools.islice(self.corpus, training.bleu_sentences))
        if not pairs:
            return None
        translator = Translator(model, *self.run.tokenizers, decoding)

        def translate(lines: Sequence[str]) -> list[str]:
            return in_stretches(translator, lines, check)

        def translate_with_average(lines: Sequence[str]) -> list[str]:
            with average.in_model():
                return translate(lines)

        return ValidationBleu(
            translate if average is None else translate_with_average,
            pairs,
            training.samples,
            training.bleu_tokenize,
        )

    def score(self, model: keras.Model) -> dict[str, float]:
        """Returns the metrics of a model as `fit` names them, with BLEU if the run measures it."""
        compile_model(model, self.run.config.training)
        with of_unknown_length():
            results = model.evaluate(self.dataset(), return_dict=True, verbose=0)
        metrics = {f"val_{name}": float(value) for name, value in results.items()}
        bleu = self.bleu(model)
        return metrics if bleu is None else {**metrics, **bleu.score()}


def validation_of(run: Run, replicas: Replicas = ONE_DEVICE) -> Validation | None:
    """Returns the validation of a run, if it has a corpus for it."""
    return None if run.config.data.valid is None else Validation(run, replicas)


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
