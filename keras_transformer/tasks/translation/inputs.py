"""From the sections of a configuration to corpora, tokenizers and batches."""

import dataclasses
import itertools
from collections.abc import Iterable

from keras_transformer.config import DataConfig, TokenizerConfig
from keras_transformer.config.run import Seq2SeqConfig
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.corpora import Corpus, LinePair, open_corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.mixing import open_training_corpus
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.runs.run import Run
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.strategy import Replicas

Tokenizers = tuple[SubwordTokenizer, SubwordTokenizer]


def open_of(data: DataConfig, spec: list[str] | str) -> Corpus:
    """Opens a corpus in the languages of a run.

    Example:
        >>> open_of(DataConfig(), "phrasebook:test").name
        'phrasebook:test'
    """
    return open_corpus(spec, data.source_language, data.target_language)


def fingerprints(data: DataConfig) -> dict[str, dict[str, int | str]]:
    """Reads each corpus of a run once.

    Returns:
        What tells whether each is still the same, as plain values, by what it is for.

    Example:
        >>> fingerprints(DataConfig("phrasebook:train:100"))["train"]["pairs"]
        100
    """
    specs = {"train": data.train, **{f"mix {spec}": spec for spec in data.mix}}
    if data.valid is not None:
        specs["valid"] = data.valid
    return {name: fingerprint(open_of(data, spec))._asdict() for name, spec in specs.items()}


def train_tokenizers(
    corpus: Iterable[LinePair], model: Seq2SeqConfig, tokenizer: TokenizerConfig, seed: int
) -> Tokenizers:
    """Trains the tokenizers of source and target.

    Args:
        corpus: The training pairs; read once for each vocabulary.
        model: Tells the sizes of the vocabularies, and whether they are one.
        tokenizer: How they are learned.
        seed: Seed of the sample of sentences.

    Returns:
        The source and the target tokenizer; the same object when the vocabulary is joint.

    Raises:
        ValueError: If the corpus cannot give vocabularies of these sizes.

    Example:
        >>> model = TransformerConfig(vocab_size=40)
        >>> source, target = train_tokenizers(corpus, model, TokenizerConfig(), seed=0)
        >>> source is target
        True
    """

    def train(lines: Iterable[str], vocab_size: int) -> SubwordTokenizer:
        return SubwordTokenizer.train(
            lines,
            vocab_size,
            algorithm=tokenizer.algorithm,
            character_coverage=tokenizer.character_coverage,
            byte_fallback=tokenizer.byte_fallback,
            max_sentences=tokenizer.max_sentences,
            seed=seed,
        )

    if model.source_vocab_size is None:
        joint = train(itertools.chain.from_iterable(corpus), model.vocab_size)
        return joint, joint
    return (
        train((source for source, _ in corpus), model.source_vocab_size),
        train((target for _, target in corpus), model.vocab_size),
    )


def training_preprocessor(
    tokenizers: Tokenizers, data: DataConfig, max_length: int
) -> PairPreprocessor:
    """Makes what turns training pairs into ids.

    Args:
        tokenizers: Those of source and target.
        data: Tells which pairs are kept, and whether their pieces are drawn.
        max_length: The model's longest side in tokens.

    Example:
        >>> data = DataConfig(subword_dropout=0.1)
        >>> training_preprocessor((tokenizer, tokenizer), data, max_length=32).subword_dropout
        0.1
    """
    return PairPreprocessor(tokenizers, max_length, data.max_ratio, data.subword_dropout)


def training_batches(run: Run, replicas: Replicas) -> TranslationBatches:
    """Makes the batches that a run is trained on.

    Args:
        run: The run.
        replicas: What trains the model.

    Example:
        >>> from keras_transformer.training.strategy import ONE_DEVICE
        >>> inputs, labels = next(training_batches(run, ONE_DEVICE).epoch(0))
    """
    data, training = run.config.data, run.config.training
    return TranslationBatches(
        open_training_corpus(data),
        training_preprocessor(run.tokenizers, data, run.config.model.max_length),
        run.plan,
        shuffle_buffer=data.shuffle_buffer,
        seed=training.seed,
        sharing=_sharing(replicas, training.jit_compile),
    )


def validation_batches(run: Run, corpus: Corpus, replicas: Replicas) -> TranslationBatches:
    """Makes the batches of a corpus that a run is validated on: in its order, all that fits.

    Args:
        run: The run.
        corpus: The corpus.
        replicas: What the model is on.

    Example:
        >>> from keras_transformer.training.strategy import ONE_DEVICE
        >>> inputs, labels = next(validation_batches(run, corpus, ONE_DEVICE).epoch(0))
    """
    return TranslationBatches(
        corpus,
        PairPreprocessor(run.tokenizers, run.config.model.max_length),
        run.plan,
        shuffle_buffer=0,
        sharing=_sharing(replicas, run.config.training.jit_compile),
    )


def _sharing(replicas: Replicas, jit_compile: bool) -> Sharing:
    # XLA compiles the step once for each shape, so there must be few.
    sharing = replicas.sharing
    return dataclasses.replace(sharing, static_shapes=jit_compile or sharing.static_shapes)
