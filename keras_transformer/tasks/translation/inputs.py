"""From the sections of a configuration to corpora, tokenizers and batches."""

import contextlib
import dataclasses
import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from keras_transformer.config import DataConfig, TokenizerConfig
from keras_transformer.config.model import Seq2SeqConfig
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.corpora import Corpus, CorpusError, LinePair, open_corpus
from keras_transformer.data.fingerprint import Fingerprint, fingerprint, remembered_fingerprint
from keras_transformer.data.mixing import Mixture, corpora_of, open_training_corpus
from keras_transformer.data.noise import WordNoise
from keras_transformer.data.prepared.origin import Origin
from keras_transformer.data.prepared.pairs import PreparedPairs, places_of
from keras_transformer.data.prepared.preparing import prepare
from keras_transformer.data.prepared.reading import PreparedCorpus
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.files import write_atomically
from keras_transformer.runs.run import Run
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.strategy import Replicas

Tokenizers = tuple[SubwordTokenizer, SubwordTokenizer]

# The prefix of the files in a run directory that hold what is held out of its training.
HELD_OUT = "held_out"


def open_of(data: DataConfig, spec: list[str] | str, weights: bool = False) -> Corpus:
    """Opens a corpus in the languages of a run.

    Args:
        data: Tells the languages.
        spec: The corpus.
        weights: Read the pairs' weights, where it has them.

    Example:
        >>> open_of(DataConfig(), "phrasebook:test").name
        'phrasebook:test'
    """
    return open_corpus(spec, data.source_language, data.target_language, weights)


def fingerprints(data: DataConfig) -> dict[str, dict[str, int | str]]:
    """Reads each corpus of a run once; with a cache, only those whose files have changed.

    Returns:
        What tells whether each is still the same, as plain values, by what it is for.

    Example:
        >>> fingerprints(DataConfig("phrasebook:train:100"))["train"]["pairs"]
        100
    """
    specs = {"train": data.train, **{f"mix {spec}": spec for spec in data.mix}}
    corpora = {name: open_of(data, spec, data.weights) for name, spec in specs.items()}
    if data.valid is not None and not data.holds_out:
        corpora["valid"] = open_of(data, data.valid)

    def read(corpus: Corpus) -> Fingerprint:
        if data.cache is None:
            return fingerprint(corpus)
        return remembered_fingerprint(corpus, data.cache)

    return {name: read(corpus)._asdict() for name, corpus in corpora.items()}


def require_languages(data: DataConfig) -> None:
    """Refuses corpora that make a model of other languages than its run says.

    With tags a source says itself which language it asks for. Without them a corpus to train or to
    validate on has the languages of the run, and none that is mixed in has the same source and
    another target.

    Args:
        data: The configuration.

    Raises:
        CorpusError: If one is refused.

    Example:
        >>> require_languages(DataConfig("phrasebook:train", mix={"reversed:phrasebook:train": 1}))
    """
    if data.tags:
        return
    source, target = data.source_language, data.target_language
    specs = [("train", data.train), *(("mix", spec) for spec in data.mix)]
    if data.valid is not None and not data.holds_out:
        specs.append(("valid", data.valid))
    for name, spec in specs:
        corpus = open_of(data, spec)
        languages = corpus.source_language, corpus.target_language
        if languages != (source, target) and (name != "mix" or languages[0] == source):
            raise CorpusError(
                f"`data.{name}` must be from {source} into {target}, as the run is; change "
                "`data.source_language` and `data.target_language`, or set `data.tags` for several "
                "target languages; of a TSV whose columns stand the other way round name the "
                f"languages, as in `reversed:{target}-{source}:FILE.tsv`. "
                f"Received: {corpus.name}, from {languages[0]} into {languages[1]}"
            )


def validation_corpus(run: Run) -> Corpus | None:
    """Opens the corpus that a run is validated on; None if there is none.

    Example:
        >>> validation_corpus(run).name
        'phrasebook:valid:3'
    """
    data = run.config.data
    if data.valid is None:
        return None
    return open_of(data, os.fspath(run.path / HELD_OUT) if data.holds_out else data.valid)


def write_held_out(path: Path, pairs: Iterable[LinePair], data: DataConfig) -> None:
    """Writes what is held out, as two parallel files that can be evaluated on like any other.

    Args:
        path: The run directory.
        pairs: The pairs.
        data: Tells the languages.

    Example:
        >>> write_held_out(run.path, [("a dog", "ein Hund")], DataConfig())
        >>> (run.path / "held_out.de").read_text()
        'ein Hund\\n'
    """
    path.mkdir(parents=True, exist_ok=True)
    languages = (data.source_language, data.target_language)
    for language, lines in zip(languages, zip(*pairs, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in lines)
        write_atomically(path / f"{HELD_OUT}.{language}", text.encode())


def train_tokenizers(
    corpus: Corpus | Mixture,
    model: Seq2SeqConfig,
    tokenizer: TokenizerConfig,
    seed: int,
    fit: bool = False,
    languages: Sequence[str] = (),
) -> Tokenizers:
    """Trains the tokenizers of source and target.

    Args:
        corpus: The training pairs; read once for each vocabulary.
        model: Tells the sizes of the vocabularies, and whether they are one.
        tokenizer: How they are learned.
        seed: Seed of the sample of sentences.
        fit: Whether `vocab_size` is fitted to a text that does not support it.
        languages: Those that a source may ask for by a tag.

    Returns:
        The source and the target tokenizer; the same object when the vocabulary is joint.

    Raises:
        CorpusError: If the corpus is malformed.
        ValueError: If the corpus cannot give vocabularies of these sizes.

    Example:
        >>> model = TransformerConfig(vocab_size=40)
        >>> source, target = train_tokenizers(corpus, model, TokenizerConfig(), seed=0)
        >>> source is target
        True
    """

    def train(
        lines: Iterable[str], size: str, languages: Sequence[str] = languages
    ) -> SubwordTokenizer:
        fitted = fit and size == "vocab_size"
        options = {"seed": seed, "fit": fitted, "languages": languages}
        with in_terms_of_options(size, corpus.name):
            return SubwordTokenizer.train(
                lines, getattr(model, size), **options, **dataclasses.asdict(tokenizer)
            )

    if model.source_vocab_size is None:
        joint = train(itertools.chain.from_iterable(corpus), "vocab_size")
        return joint, joint
    return (
        train((source for source, _ in corpus), "source_vocab_size"),
        train((target for _, target in corpus), "vocab_size", languages=()),
    )


@contextlib.contextmanager
def in_terms_of_options(size: str, corpus: str) -> Iterator[None]:
    """Puts errors of a vocabulary in the terms of a person who has files and options, not lines.

    Args:
        size: The option of the model that has its size.
        corpus: Name of the corpus.

    Example:
        >>> with in_terms_of_options("vocab_size", "corpus/train"):
        ...     tokenizer = SubwordTokenizer.train(["a dog"], vocab_size=9)
    """
    try:
        yield
    except CorpusError:
        raise
    except ValueError as error:
        raise ValueError(f"{error} (--model.{size}, for the text of {corpus})") from error


def training_preprocessor(
    tokenizers: Tokenizers, data: DataConfig, max_length: int
) -> PairPreprocessor:
    """Makes what turns training pairs into ids.

    Args:
        tokenizers: Those of source and target.
        data: Tells which pairs are kept, whether their pieces are drawn, and with what noise.
        max_length: The model's longest side in tokens.

    Example:
        >>> data = DataConfig(subword_dropout=0.1)
        >>> training_preprocessor((tokenizer, tokenizer), data, max_length=32).subword_dropout
        0.1
    """
    noise = WordNoise.of(tokenizers[0], data.noise) if data.noise else None
    return PairPreprocessor(tokenizers, max_length, data.max_ratio, data.subword_dropout, noise)


def training_batches(
    run: Run, replicas: Replicas, sharing: Sharing | None = None
) -> TranslationBatches:
    """Makes the batches that a run is trained on.

    Args:
        run: The run.
        replicas: What trains the model.
        sharing: Who shares a batch; None for the replicas. One process alone can so count the
            batches that several will have.

    Example:
        >>> from keras_transformer.training.strategy import ONE_DEVICE
        >>> inputs, labels = next(training_batches(run, ONE_DEVICE).epoch(0))
    """
    data, training = run.config.data, run.config.training
    held_out = validation_corpus(run) if data.holds_out else None
    pairs = run.data.get("train", {}).get("pairs")
    if pairs and held_out:
        pairs -= held_out.size
    corpus = open_training_corpus(data, held_out or ())
    preprocess = training_preprocessor(run.tokenizers, data, run.config.model.max_length)
    make_batches = functools.partial(
        TranslationBatches,
        plan=run.plan,
        shuffle_buffer=data.shuffle_buffer,
        seed=training.seed,
        pairs=pairs and round(pairs * (1 + sum(data.mix.values()))),
        sharing=_sharing(sharing or replicas.sharing, training.jit_compile),
    )
    if data.cache is None:
        return make_batches(corpus, preprocess)
    return make_batches(*_prepared(run, corpus, preprocess, held_out or (), replicas))


def _prepared(
    run: Run,
    corpus: Corpus | Mixture,
    preprocess: PairPreprocessor,
    held_out: Iterable[LinePair],
    replicas: Replicas,
) -> tuple[Corpus | Mixture, PreparedPairs]:
    """Puts prepared ids and their places in place of lines and what makes ids of them."""
    data = run.config.data
    names = ["train", *(f"mix {spec}" for spec in data.mix)]
    origins = [
        Origin(
            one.name,
            Fingerprint(**run.data[name]),
            run.tokenizers,
            held_out,
            one.target_language if data.tags else None,
        )
        for name, one in zip(names, corpora_of(corpus), strict=True)
    ]

    def opened() -> list[PreparedCorpus]:
        return list(map(prepare, corpora_of(corpus), origins, itertools.repeat(data.cache)))

    if replicas.is_chief:
        opened()
    # The others wait here until all is prepared, and prepare where they do not see it.
    replicas.agree(True)
    prepared = opened()
    return places_of(corpus, prepared), PreparedPairs(prepared, preprocess)


def validation_preprocessor(run: Run) -> PairPreprocessor:
    """Makes what turns the pairs that a run is validated on into ids: all that fit are kept.

    Args:
        run: The run.

    Example:
        >>> validation_preprocessor(run).max_length == run.config.model.max_length
        True
    """
    return PairPreprocessor(run.tokenizers, run.config.model.max_length)


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
        validation_preprocessor(run),
        run.plan,
        shuffle_buffer=0,
        sharing=_sharing(replicas.sharing, run.config.training.jit_compile),
    )


def _sharing(sharing: Sharing, jit_compile: bool) -> Sharing:
    # XLA compiles the step once for each shape, so there must be few.
    return dataclasses.replace(sharing, static_shapes=jit_compile or sharing.static_shapes)
