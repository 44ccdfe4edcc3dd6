"""What happens beside the steps of `fit`: throughput, translations and checkpoints."""

import time
from collections.abc import Callable, Sequence

import keras

from keras_transformer.evaluation import score_corpus
from keras_transformer.training.checkpoints import Checkpoints
from keras_transformer.training.metrics import TokenMean


class Throughput(keras.callbacks.Callback):
    """Shows `tokens_per_second`: real target tokens of an epoch, by the time its steps took.

    Args:
        clock: Gives the time in seconds.

    Example:
        >>> history = model.fit(dataset, callbacks=[Throughput()])
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        super().__init__()
        self.clock = clock
        self._in_epoch = False

    def on_epoch_begin(self, epoch, logs=None):
        self._started = self._read_at = self.clock()
        self._rate = 0.0

    def on_train_batch_end(self, batch, logs=None):
        self._in_epoch = True
        self._stopped = self.clock()
        # The count lives on the device; reading it at every step would make the steps wait.
        if batch == 0 or self._stopped - self._read_at >= 1.0:
            self._read()
        if logs is not None:
            logs["tokens_per_second"] = self._rate

    def on_test_begin(self, logs=None):
        # Validation follows the epoch's last step, and resets the metrics' count.
        self._finish()

    def on_epoch_end(self, epoch, logs=None):
        self._finish()
        if logs is not None:
            logs["tokens_per_second"] = self._rate

    def _finish(self) -> None:
        if self._in_epoch:
            self._in_epoch = False
            self._read()

    def _read(self) -> None:
        self._read_at = self._stopped
        self._rate = self._tokens() / (self._stopped - self._started)

    def _tokens(self) -> float:
        for metric in self.model.metrics:
            for part in getattr(metric, "metrics", [metric]):
                if isinstance(part, TokenMean):
                    return part.count
        raise ValueError(
            "Throughput needs a metric that counts tokens; compile the model with TokenAccuracy or "
            f"Perplexity. Received: metrics={[metric.name for metric in self.model.metrics]}"
        )


class AverageWeights(keras.callbacks.SwapEMAWeights):
    """Puts the moving average into the model for validation, and at the end of each epoch.

    Comes before the callbacks that are to see the average.

    Args:
        resumed: Whether the model is a saved one, which holds the average already.

    Example:
        >>> model.compile(FusedAdam(1e-3, use_ema=True), loss)
        >>> history = model.fit(dataset, callbacks=[AverageWeights()])
    """

    def __init__(self, resumed: bool = False):
        super().__init__(swap_on_epoch=True)
        self._ema_weights_in_model = resumed


class ValidationBleu(keras.callbacks.Callback):
    """Translates validation sentences after each epoch: `val_bleu`, `val_chrf` and samples.

    Args:
        translate: Takes sentences, gives translations.
        pairs: Sources with their references.
        samples: Translations that are printed.

    Example:
        >>> history = model.fit(dataset, callbacks=[ValidationBleu(translator, pairs)])
    """

    def __init__(
        self,
        translate: Callable[[Sequence[str]], list[str]],
        pairs: Sequence[tuple[str, str]],
        samples: int = 3,
    ):
        super().__init__()
        self.translate = translate
        self.sources, self.references = map(list, zip(*pairs, strict=True))
        self.samples = samples

    def on_epoch_end(self, epoch, logs=None):
        translations = self.translate(self.sources)
        score = score_corpus(translations, self.references)
        if logs is not None:
            logs.update(val_bleu=score.bleu, val_chrf=score.chrf)
        print(f"\nvalid: {score}")
        rows = zip(self.sources, self.references, translations, strict=True)
        for source, reference, translation in list(rows)[: self.samples]:
            print(f"  source      {source}\n  reference   {reference}\n  translation {translation}")


class SaveCheckpoints(keras.callbacks.Callback):
    """Saves a checkpoint after each epoch; comes after the callbacks whose metrics it keeps.

    Args:
        checkpoints: Where to.

    Example:
        >>> history = model.fit(dataset, callbacks=[SaveCheckpoints(Checkpoints("checkpoints"))])
    """

    def __init__(self, checkpoints: Checkpoints):
        super().__init__()
        self.checkpoints = checkpoints

    def on_epoch_end(self, epoch, logs=None):
        self.checkpoints.save(self.model, epoch + 1, logs or {})
