"""The translator: strings in, strings out, in Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding.alignment import hard_alignment
from keras_transformer.export.in_batches import encode, map_in_batches
from keras_transformer.export.translation_graph import TranslationGraph
from keras_transformer.models import Transformer
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID

if TYPE_CHECKING:
    from keras_transformer.training.run import Run


class Translation(NamedTuple):
    """A translation and the log-probability of its tokens, eos included."""

    text: str
    log_prob: float


class Score(NamedTuple):
    """What a model thinks of a given translation.

    Args:
        log_prob: Log-probability of the translation's tokens, eos included.
        pieces: The tokens.
        piece_log_probs: Log-probability of each.
    """

    log_prob: float
    pieces: list[str]
    piece_log_probs: list[float]


class Attention(NamedTuple):
    """What the tokens of a translation attended to.

    Args:
        source: Pieces of the source, without eos.
        target: Pieces of the translation, without eos.
        weights: float32 `[target, source]`, of one decoder layer, mean of its heads. The rest to a
            sum of 1 went to the source's eos.
        alignment: Positions of source and target that belong together; see `hard_alignment`.
    """

    source: list[str]
    target: list[str]
    weights: np.ndarray
    alignment: list[tuple[int, int]]


class Translator:
    """Translates strings with a model and its tokenizers.

    Any string is an input. One without text gives ""; one longer than the model's maximum is
    translated in pieces, cut at sentence ends or between words, whose translations are joined by
    spaces.

    Args:
        models: A `Transformer` on the TensorFlow backend, or several that decide together.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; None if it is the source's.
        config: How translations are searched.
        origin: What the metadata of an export say of where the models come from.

    Raises:
        ValueError: If a tokenizer does not fit a model's vocabulary, if a banned piece is not in
            it, or on another backend.

    Example:
        >>> translator = Translator(model, tokenizer)
        >>> translations = translator(["a small dog", ""])
        >>> translations[1]
        ''
    """

    def __init__(
        self,
        models: Transformer | Sequence[Transformer],
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: SubwordTokenizer | None = None,
        config: DecodingConfig = DecodingConfig(),
        origin: Mapping[str, Any] | None = None,
    ):
        models = [models] if isinstance(models, Transformer) else models
        target_tokenizer = target_tokenizer or source_tokenizer
        self.graph = TranslationGraph(models, source_tokenizer, target_tokenizer, config)
        self.models = self.graph.models
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.config = config
        self.origin = dict(origin or {})
        self._nbest = _compiled(self.graph.nbest, "text")
        self._nbest_prefixed = _compiled(self.graph.nbest, "text", "prefix")
        self._score = _compiled(self.graph.score, "source", "target")
        self._attention = _compiled(self.graph.attention, "text")

    @classmethod
    def of_run(
        cls, *runs: "Run", checkpoint: str = "best", config: DecodingConfig | None = None
    ) -> "Translator":
        """Makes the translator of a trained run, or of several that decide together.

        Args:
            *runs: The runs; the tokenizers are those of the first.
            checkpoint: "best" or "latest".
            config: How to search; None for what the first run says.

        Raises:
            FileNotFoundError: If a run has no checkpoint yet.
            ValueError: If the runs differ in their vocabularies.
        """
        models, origins = [], []
        for run in runs:
            found = getattr(run.checkpoints, checkpoint)()
            if found is None:
                raise FileNotFoundError(
                    "`run` must have a checkpoint; train it for an epoch first. Received: "
                    f"{run.path}"
                )
            models.append(found.load())
            origins.append(
                {"run": run.path.name, "epoch": found.epoch, "metrics": dict(found.metrics)}
            )
            for side in ("source", "target"):
                tokenizers = (getattr(one, f"{side}_tokenizer") for one in (runs[0], run))
                if len({tokenizer.model for tokenizer in tokenizers}) > 1:
                    raise ValueError(
                        f"Runs that translate together must have one {side} vocabulary; train the "
                        f"others from the first one's. Received: {runs[0].path}, {run.path}"
                    )
        first = runs[0]
        config = config or first.config.decoding
        data = first.config.data
        origin = {
            "languages": {"source": data.source_language, "target": data.target_language},
            "training": origins,
        }
        return cls(models, first.source_tokenizer, first.target_tokenizer, config, origin)

    def __call__(
        self,
        lines: Iterable[str | bytes],
        prefixes: Iterable[str | bytes] | None = None,
        progress: bool = False,
    ) -> list[str]:
        """Translates lines in batches of like lengths and returns them in their own order.

        Args:
            lines: The strings.
            prefixes: What each translation begins with, "" for anything; None for anything.
            progress: Show a progress bar, on standard error.

        Returns:
            A translation for each line.
        """
        return [best.text for best, *_ in self.nbest(lines, prefixes, progress)]

    def nbest(
        self,
        lines: Iterable[str | bytes],
        prefixes: Iterable[str | bytes] | None = None,
        progress: bool = False,
    ) -> list[list[Translation]]:
        """Translates lines as a call does, and returns `config.num_hypotheses` of each.

        Returns:
            For each line its translations, the best first. There are fewer of them if the search
            found no more.

        Raises:
            ValueError: If a prefix is as long as the longest translation.
        """
        lines = encode(lines)
        if prefixes is None:
            rows = self._map(self._nbest, lines, progress=progress)
        else:
            prefixes = encode(prefixes)
            self._check_lengths("prefixes", prefixes, self.target_tokenizer)
            rows = self._map(self._nbest_prefixed, lines, prefixes, progress=progress)
        return [
            [
                Translation(text.decode("utf-8", "replace"), float(log_prob))
                for i, (text, log_prob) in enumerate(
                    zip(row["translations"], row["scores"], strict=True)
                )
                if i == 0 or log_prob > np.finfo(np.float32).min
            ]
            for row in rows
        ]

    def score(
        self,
        sources: Iterable[str | bytes],
        targets: Iterable[str | bytes],
        progress: bool = False,
    ) -> list[Score]:
        """Gives the log-probabilities of given translations.

        Args:
            sources: The sources.
            targets: A translation of each.
            progress: Show a progress bar, on standard error.

        Raises:
            ValueError: If a source or a target is longer than the model's maximum.
        """
        sources, targets = encode(sources), encode(targets)
        self._check_lengths("sources", sources, self.source_tokenizer)
        self._check_lengths("targets", targets, self.target_tokenizer)
        scores = []
        for row in self._map(self._score, sources, targets, progress=progress):
            pieces = _decode(row["tokens"])
            log_probs = row["token_log_probs"][: len(pieces)].tolist()
            scores.append(Score(float(row["log_prob"]), pieces, log_probs))
        return scores

    def attend(self, lines: Iterable[str | bytes], progress: bool = False) -> list[Attention]:
        """Translates lines and tells what each token of the translations attended to.

        Args:
            lines: The strings.
            progress: Show a progress bar, on standard error.

        Raises:
            ValueError: If a line is longer than the model's maximum.
        """
        lines = encode(lines)
        self._check_lengths("lines", lines, self.source_tokenizer)
        rows = self._map(self._attention, lines, progress=progress)
        return [self._attention_of(**row) for row in rows]

    def _map(self, function: Callable, *columns, progress):
        return map_in_batches(function, *columns, size=self.config.batch_size, progress=progress)

    def _attention_of(self, source_tokens, target_tokens, weights, **_) -> Attention:
        source, target = _decode(source_tokens), _decode(target_tokens)
        # A translation that was cut has no eos.
        has_eos = target[-1:] == [self.target_tokenizer.pieces[EOS_ID]]
        source, target = source[:-1], target[:-1] if has_eos else target
        weights = weights.mean(axis=0)
        return Attention(
            source,
            target,
            weights[: len(target), : len(source)],
            hard_alignment(weights, len(source), len(target)),
        )

    def _check_lengths(self, name, lines, tokenizer) -> None:
        most = self.graph.max_length
        lengths = tokenizer.tokenize(lines).row_lengths().numpy()
        for i in np.flatnonzero(lengths > most)[:1]:
            raise ValueError(
                f"`{name}` must be strings of at most {most} tokens, eos included. "
                f"Received: {lengths[i]} tokens in line {i + 1}"
            )


def _decode(tokens: np.ndarray) -> list[str]:
    return [token.decode() for token in tokens if token]


def _compiled(function: Callable, *arguments: str) -> tf.types.experimental.PolymorphicFunction:
    """Compiles a function of strings into one graph for all batches."""
    signature = [tf.TensorSpec([None], tf.string, name=name) for name in arguments]
    return tf.function(function, input_signature=signature, autograph=False)
