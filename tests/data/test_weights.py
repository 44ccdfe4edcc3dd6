"""Weights of pairs: where they are read, that they stay with their pairs, and what they count."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.config import DataConfig, TrainingConfig, TransformerConfig
from keras_transformer.data.batches import TranslationBatches, replica_parts
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import Corpus, CorpusError, open_corpus
from keras_transformer.data.fingerprint import fingerprint
from keras_transformer.data.held_out import hold_out, sentences_of
from keras_transformer.data.mixing import open_training_corpus
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.data.weights import WeightedPair, weight_of
from keras_transformer.models.families import make_model
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.training.optimizer import compile_model
from keras_transformer.training.scoring import of_unknown_length

WORDS = ["the", "a", "dog", "cat", "tree", "house", "runs", "sees", "under", "big", "small", "and"]
_rng = random.Random(1706)
PAIRS = [
    tuple(f"{' '.join(_rng.choices(WORDS, k=_rng.randint(1, 9)))} {number}" for _ in range(2))
    for number in range(200)
]
WEIGHTS = dict(zip(PAIRS, _rng.choices([0.0, 0.5, 1.0, 2.0], k=len(PAIRS)), strict=True))


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train((line for pair in PAIRS for line in pair), 80)


@pytest.fixture
def make(tokenizer):
    def make(corpus, subword_dropout=0.0, **options):
        preprocess = PairPreprocessor((tokenizer,) * 2, 64, subword_dropout=subword_dropout)
        plan = BucketPlan(((8, 16, 16), (4, 64, 64)))
        return TranslationBatches(corpus, preprocess, plan, **options)

    return make


def write_tsv(path, weights=WEIGHTS):
    path.write_text("".join(f"{one}\t{two}\t{weights[one, two]}\n" for one, two in weights))
    return path


def write_files(folder, weights=WEIGHTS, ending=""):
    for language, lines in zip(("en", "de"), zip(*weights, strict=True), strict=True):
        (folder / f"train.{language}").write_text("".join(f"{line}\n" for line in lines))
    content = "".join(f"{weight}\n" for weight in weights.values()).encode()
    path = folder / f"train.weights{ending}"
    path.write_bytes(gzip.compress(content) if ending else content)
    return folder / "train"


def read(spec, weights=True):
    return [(*pair, weight_of(pair)) for pair in open_corpus(spec, "en", "de", weights)]


# Where they are


def test_weights_beside_a_corpus(tmp_path):
    expected = [(*pair, weight) for pair, weight in WEIGHTS.items()]
    assert read(write_tsv(tmp_path / "train.tsv")) == expected
    assert read(write_files(tmp_path)) == expected
    (tmp_path / "train.weights").rename(tmp_path / "other")
    paths = [tmp_path / name for name in ("train.en", "train.de", "other")]
    assert read(paths) == expected
    assert read(write_files(tmp_path, ending=".gz")) == expected


def test_weights_are_read_if_they_are_wanted(tmp_path):
    prefix = write_files(tmp_path)
    assert read(prefix, weights=False) == [(*pair, 1.0) for pair in PAIRS]
    assert not open_corpus(prefix, "en", "de").weighted
    assert open_corpus(prefix, "en", "de", weights=True).weighted
    with pytest.raises(CorpusError, match="line 1: a line must be two columns"):
        read(write_tsv(tmp_path / "train.tsv"), weights=False)
    with pytest.raises(CorpusError, match="must be two paths, source and target"):
        read([tmp_path / f"train.{end}" for end in ("en", "de", "weights")], weights=False)


def test_a_training_without_weights(tmp_path):
    data = DataConfig("phrasebook:train:20", weights=True)
    with pytest.raises(CorpusError, match=r"needs a training corpus that has them.*phrasebook"):
        open_training_corpus(data)
    mixed = DataConfig("phrasebook:train:20", weights=True, mix={str(write_files(tmp_path)): 1.0})
    weights = [weight_of(pair) for pair in open_training_corpus(mixed)]
    assert weights[::2] == [1.0] * 20, "pairs without a weight count 1"
    assert weights[1::2] == list(WEIGHTS.values())[:20]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "", "two", "1,5"])
def test_what_is_no_weight(tmp_path, text):
    weights = {PAIRS[0]: 1.0, PAIRS[1]: text}
    message = rf"line 2: the weight of a pair must be a number.*Received: '{text}'"
    with pytest.raises(CorpusError, match=rf"train\.tsv, {message}"):
        read(write_tsv(tmp_path / "train.tsv", weights))
    with pytest.raises(CorpusError, match=rf"train\.weights, {message}"):
        read(write_files(tmp_path, weights))


def test_missing_weights(tmp_path):
    prefix = write_files(tmp_path)
    Path(f"{prefix}.weights").write_text("1\n" * 199)
    with pytest.raises(CorpusError, match=r"200 lines in .*\.de, 199 lines in .*train\.weights"):
        read(prefix)
    tsv = write_tsv(tmp_path / "train.tsv")
    tsv.write_text(tsv.read_text() + "a dog\tein Hund\n")
    with pytest.raises(CorpusError, match=r"line 201: .*with a weight in the third.*2 column"):
        read(tsv)


def test_a_fingerprint_knows_of_weights(tmp_path):
    def of(spec, weights=True):
        return fingerprint(open_corpus(spec, "en", "de", weights))

    expected = of(write_files(tmp_path))
    assert of(write_tsv(tmp_path / "train.tsv")) == expected
    assert of(tmp_path / "train", weights=False) == fingerprint(PAIRS)
    others = [of(write_files(tmp_path, WEIGHTS | {PAIRS[7]: 3.0})), fingerprint(PAIRS)]
    assert len({expected, *others}) == 3


# With their pairs


def batched_weights(batches, index=0):
    """The pairs of an epoch with their weights, as the batches have them."""
    source, target = batches.preprocess.tokenizers
    found = {}
    for inputs, labels, weights in batches.epoch(index):
        assert weights.dtype == np.float32
        assert weights.shape == labels.shape[:1]
        sources, targets = source.detokenize(inputs["source"]), target.detokenize(labels)
        rows = zip(sources.numpy(), targets.numpy(), weights, strict=True)
        found |= {(one.decode(), two.decode()): weight for one, two, weight in rows}
    assert found.pop(("", ""), 0.0) == 0.0, "rows of padding count for nothing"
    return found


@pytest.mark.parametrize("options", [{}, {"subword_dropout": 0.3}, {"shuffle_buffer": 30}])
def test_a_weight_stays_with_its_pair(make, tmp_path, options):
    corpus = open_corpus(write_tsv(tmp_path / "train.tsv"), "en", "de", weights=True)
    assert batched_weights(make(corpus, **options)) == WEIGHTS


def test_workers_replicas_and_what_is_held_out(make, tmp_path):
    data = DataConfig(str(write_tsv(tmp_path / "train.tsv")), weights=True)
    chosen = hold_out(open_corpus(data.train, "en", "de", weights=True), size=5)
    corpus = open_training_corpus(data, chosen)
    found = {}
    for worker in range(2):
        sharing = Sharing(worker, workers=2, replicas=3, static_shapes=True)
        found |= batched_weights(make(corpus, sharing=sharing))
    held_out = sentences_of(chosen)
    assert found == {pair: w for pair, w in WEIGHTS.items() if held_out.isdisjoint(pair)}
    for batch in make(corpus).epoch(0):
        parts = list(replica_parts(batch, 3))
        for row, weight in enumerate(batch[2]):
            inputs, labels, weights = parts[row % 3]
            assert weights[row // 3] == weight
            np.testing.assert_array_equal(labels[row // 3], batch[1][row])
            np.testing.assert_array_equal(inputs["source"][row // 3], batch[0]["source"][row])
        assert sum(weights.sum() for *_, weights in parts) == batch[2].sum()


def test_a_batch_to_look_at_tells_weights(make, tmp_path):
    corpus = open_corpus(write_tsv(tmp_path / "train.tsv"), "en", "de", weights=True)
    shown = make(corpus).described(0, 1)
    pairs = zip(shown["source"], shown["target"], strict=True)
    assert shown["weights"] == [WEIGHTS[pair] for pair in pairs]


# What they count


@pytest.fixture(scope="module")
def model():
    shape = dict(num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=64)
    config = TrainingConfig(label_smoothing=0.1)
    return compile_model(make_model(TransformerConfig(vocab_size=80, **shape)), config)


def test_weights_are_numbers_of_copies(make, model):
    """The loss of an epoch with weights 0, 1 and 2 is that of no, one and two copies."""
    counts = [number % 3 for number in range(60)]
    weighted = [WeightedPair(pair, count) for pair, count in zip(PAIRS, counts, strict=False)]
    copied = [pair for pair in weighted for _ in range(int(pair.weight))]
    with of_unknown_length():
        losses = [
            model.evaluate(make(Corpus("a", lambda p=pairs: iter(p), has)).dataset(), verbose=0)[0]
            for pairs, has in ((weighted, True), (copied, False), (weighted, False))
        ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert losses[0] != pytest.approx(losses[2], rel=1e-4)
