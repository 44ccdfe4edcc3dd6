"""BLEU of the validation corpus, and translations to look at, after each epoch."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_transformer.evaluation import score_corpus
from keras_transformer.training.task import Scoring
from keras_transformer.translation.results import Attention


class ValidationBleu(Scoring):
    """Translates validation sentences after each epoch: `val_bleu`, `val_chrf` and samples.

    Args:
        translate: Takes sentences, gives translations.
        pairs: Sources with their references.
        samples: Translations that `report` has.
        tokenize: sacreBLEU's tokenizer.
        attend: Translates a sentence and tells what the translation attends to; None for no
            picture of it.

    Example:
        >>> history = model.fit(dataset, callbacks=[ValidationBleu(translator, pairs)])
    """

    def __init__(
        self,
        translate: Callable[[Sequence[str]], list[str]],
        pairs: Sequence[tuple[str, str]],
        samples: int = 3,
        tokenize: str = "13a",
        attend: Callable[[str], Attention] | None = None,
    ) -> None:
        super().__init__()
        self.translate = translate
        self.sources, self.references = map(list, zip(*pairs, strict=True))
        self.samples = samples
        self.tokenize = tokenize
        self.attend = attend

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        scores = self.score()
        if logs is not None:
            logs.update(scores)

    def score(self) -> dict[str, float]:
        """Returns `val_bleu` and `val_chrf` of the model as it is now; samples are in `report`."""
        translations = self.translate(self.sources)
        score = score_corpus(translations, self.references, self.tokenize)
        rows = zip(self.sources, self.references, translations, strict=True)
        samples = [
            f"  source      {source}\n  reference   {reference}\n  translation {translation}"
            for source, reference, translation in itertools.islice(rows, self.samples)
        ]
        self.report = "\n".join([f"valid: {score}", *samples])
        return {"val_bleu": score.bleu, "val_chrf": score.chrf}

    def pictures(self) -> Mapping[str, bytes]:
        """Draws the alignment of the first sentence, in all epochs the same one.

        An empty translation, as of a model that has just begun, aligns nothing and has no picture.
        """
        if self.attend is None:
            return {}
        from keras_transformer.plotting import plot_alignment, png_bytes

        found = self.attend(self.sources[0])
        if not found.weights.size:
            return {}
        figure = plot_alignment(found.weights, found.source, found.target, found.alignment)
        return {"attention": png_bytes(figure)}
