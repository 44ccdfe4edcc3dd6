"""From a run's configuration to its corpora, tokenizers and batches."""

import contextlib
import itertools
import warnings
from collections.abc import Iterator

from keras_transformer.config import DataConfig, RunConfig
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import Corpus, open_corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.mixing import Mixture
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.strategy import ONE_DEVICE, Replicas


def open_of(data: DataConfig, spec: list[str] | str) -> Corpus:
    """Opens a corpus in the languages of a run."""
    return open_corpus(spec, data.source_language, data.target_language)


def fingerprints(data: DataConfig) -> dict[str, dict[str, int | str]]:
    """Reads each corpus of a run once.

    Returns:
        What tells whether each is still the same, as plain values, by what it is for.
    """
    specs = {"train": data.train, **{f"mix {spec}": spec for spec in data.mix}}
    if data.valid is not None:
        specs["valid"] = data.valid
    return {name: fingerprint(open_of(data, spec))._asdict() for name, spec in specs.items()}


def train_tokenizers(
    config: RunConfig, corpus: Corpus | Mixture
) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    """Trains the tokenizers of source and target; one object where the vocabulary is joint."""
    options = {
        "algorithm": config.tokenizer.algorithm,
        "character_coverage": config.tokenizer.character_coverage,
        "byte_fallback": config.tokenizer.byte_fallback,
        "max_sentences": config.tokenizer.max_sentences,
        "seed": config.training.seed,
    }

    def side(index: int) -> Iterator[str]:
        return (pair[index] for pair in corpus)

    if config.model.joint_vocabulary:
        lines = itertools.chain.from_iterable(corpus)
        joint = SubwordTokenizer.train(lines, config.model.vocab_size, **options)
        return joint, joint
    return (
        SubwordTokenizer.train(side(0), config.model.source_vocab_size, **options),
        SubwordTokenizer.train(side(1), config.model.vocab_size, **options),
    )


def make_batches(
    config: RunConfig,
    corpus: Corpus | Mixture,
    tokenizers: tuple[SubwordTokenizer, SubwordTokenizer],
    plan: BucketPlan | None,
    shuffle: bool = True,
    replicas: Replicas = ONE_DEVICE,
) -> TranslationBatches:
    """Makes the batches of a corpus as a run's configuration says.

    Args:
        config: The configuration.
        corpus: The corpus.
        tokenizers: Of source and target.
        plan: The batch shapes; None to fit them to the corpus.
        shuffle: Whether it is trained on; a validation corpus keeps its order and all its pairs.
        replicas: What trains the model.
    """
    return TranslationBatches(
        corpus,
        *tokenizers,
        batch_tokens=config.data.batch_tokens,
        max_length=config.model.max_length,
        shuffle_buffer=config.data.shuffle_buffer if shuffle else 0,
        seed=config.training.seed,
        max_ratio=config.data.max_ratio if shuffle else None,
        # XLA compiles the step once for each shape, so there must be few.
        static_shapes=config.training.jit_compile or replicas.static_shapes,
        shard=(replicas.worker, replicas.workers),
        replicas=replicas.local,
        subword_dropout=config.data.subword_dropout if shuffle else 0.0,
        plan=plan,
    )


@contextlib.contextmanager
def of_unknown_length() -> Iterator[None]:
    """Silences Keras's warning, at the end of each pass, that a stream has ended."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        yield
