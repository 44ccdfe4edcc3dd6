"""Word noise: what happens to words, how often, and that a draw follows from seed, epoch, place."""

import types

import numpy as np
import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.batches import TranslationBatches
from keras_transformer.data.bucketing import BucketPlan
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.noise import WordNoise
from keras_transformer.data.weights import WeightedPair, weight_of
from keras_transformer.tasks.translation.inputs import training_preprocessor
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, UNK_ID

TAG, END_OF_WORD = 4, 5
# Words of two pieces: word number w is 2 w + 6, which begins it, and 5.
PIECES = ["<pad>", "<unk>", "<s>", "</s>", ">>fra<<", "s", *(f"▁{i}" for i in range(200))]
TOKENIZER = types.SimpleNamespace(pieces=PIECES, tags={"fra": TAG})
WORDS = 40
SENTENCE = np.array([*(i for w in range(WORDS) for i in (6 + w, END_OF_WORD)), EOS_ID], np.int32)


def words_of(ids):
    """The numbers of the words, None for a masked one; fails where a word was torn apart."""
    *ids, end = ids.tolist()
    assert end == EOS_ID
    words = []
    while ids:
        first = ids.pop(0)
        if first != UNK_ID:
            assert ids.pop(0) == END_OF_WORD
        words.append(None if first == UNK_ID else first - 6)
    return words


def drawn(times=500, **noise):
    noisy, rng = WordNoise.of(TOKENIZER, noise), np.random.default_rng(7)
    return [words_of(noisy(SENTENCE, rng)) for _ in range(times)]


def test_without_noise_a_sentence_stays_as_it_is():
    assert drawn(times=2) == [list(range(WORDS))] * 2


@pytest.mark.parametrize("name", ["drop", "mask"])
def test_words_are_dropped_or_masked_with_the_probability(name):
    sentences = drawn(**{name: 0.2})
    untouched = np.mean([sum(word is not None for word in words) for words in sentences]) / WORDS
    # Four standard deviations of the mean of 20,000 draws.
    assert abs(untouched - 0.8) < 4 * np.sqrt(0.2 * 0.8 / (500 * WORDS))
    for words in sentences:
        kept = [word for word in words if word is not None]
        assert kept == sorted(kept)
        assert len(words) == (WORDS if name == "mask" else len(kept))
        assert all(word in (None, place) for place, word in enumerate(words) if name == "mask")


@pytest.mark.parametrize("swap", [1, 3])
def test_words_move_by_no_more_places_than_asked_for(swap):
    moves = {abs(w - place) for words in drawn(swap=swap) for place, w in enumerate(words)}
    assert moves == set(range(swap + 1))
    assert all(sorted(words) == list(range(WORDS)) for words in drawn(times=5, swap=swap))


def test_one_word_is_left_and_each_may_be_the_one():
    sentences = drawn(drop=0.999)
    assert min(map(len, sentences)) == 1
    assert len({words[0] for words in sentences}) == WORDS


def test_a_language_tag_stays_and_nothing_stays_nothing():
    noisy, rng = (
        WordNoise.of(TOKENIZER, {"drop": 0.9, "mask": 0.5, "swap": 9}),
        np.random.default_rng(0),
    )
    tagged = np.concatenate([np.array([TAG], np.int32), SENTENCE])
    for _ in range(50):
        assert noisy(tagged, rng)[0] == TAG
        words_of(noisy(tagged, rng)[1:])
    assert noisy(np.array([EOS_ID]), rng).tolist() == [EOS_ID]
    assert noisy(np.array([TAG, EOS_ID]), rng).tolist() == [TAG, EOS_ID]


def test_the_draws_of_an_epoch_follow_from_seed_and_index_and_spare_targets_and_weights():
    rng = np.random.default_rng(3)
    lines = [" ".join(rng.choice(["dog", "cat", "sees", "the", "big"], 8)) for _ in range(30)]
    pairs = [WeightedPair((line, line), float(i)) for i, line in enumerate(lines)]
    tokenizer = SubwordTokenizer.train(lines, 30)
    data = DataConfig(noise={"drop": 0.3, "mask": 0.1, "swap": 2}, subword_dropout=0.2)
    preprocess = training_preprocessor((tokenizer, tokenizer), data, max_length=80)
    corpus = Corpus("pairs", lambda: iter(pairs), weighted=True)
    plan = BucketPlan(((8, 80, 80),))

    def epoch(index, seed=1):
        batches = TranslationBatches(corpus, preprocess, plan, seed=seed, shuffle_buffer=0)
        return [(x["source"].tolist(), y.tolist(), w.tolist()) for x, y, w in batches.epoch(index)]

    assert epoch(2) == epoch(2)
    assert epoch(2) != epoch(3)
    assert epoch(2) != epoch(2, seed=2)
    usable = preprocess.new_filter()
    for number, (source, target) in enumerate(preprocess(pairs, usable)):
        assert tokenizer.detokenize([target.tolist()]).numpy() == [lines[number].encode()]
        assert len(source) > 1
    assert usable.counts["kept"] == len(pairs)
    assert list(map(weight_of, preprocess(pairs, usable))) == list(map(weight_of, pairs))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ({"blank": 0.1}, r"`noise` must be drop, mask or swap. Received: noise='blank'"),
        ({"drop": 1.0}, r"`noise.drop` must be a probability in \[0, 1\)"),
        ({"swap": 1.5}, r"`noise.swap` must be a whole number"),
    ],
)
def test_wrong_noise_is_refused(noise, message):
    with pytest.raises(ValueError, match=message):
        DataConfig(noise=noise)


def test_prepared_ids_cannot_be_noisy():
    with pytest.raises(ValueError, match="`cache` must be None with `subword_dropout` and `noise`"):
        DataConfig(cache="ids", noise={"drop": 0.1})
