"""Drawn pieces: by their exact probabilities, of the same text, and the usual ones in the limit."""

import io
import itertools
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from hostile import HOSTILE
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.text import sampling
from keras_transformer.text.sampling import SubwordSampler
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID

LINES = [
    "The quick brown fox jumps over the lazy dog, again and again.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "the other brothers bother another mother; there is nothing other than this",
    "Unterhaltungselektronikfachverkäuferinnenausbildungsverordnungsänderung",
    "天地玄黄 宇宙洪荒",
]
TEXTS = [*LINES, *HOSTILE]
SPACE = "\u2581"


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def algorithm(request):
    return request.param


@pytest.fixture(scope="module", params=[True, False], ids=["bytes", "unk"])
def tokenizer(request, algorithm):
    size = 380 if request.param else 120
    return train(LINES[:4], algorithm, vocab_size=size, byte_fallback=request.param)


def train(lines, algorithm, **options):
    """Trains a vocabulary; little text gives no unigram one, so that has random probabilities."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="bpe" if algorithm == "unigram" else algorithm,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=3,
        **options,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    if algorithm == "unigram":
        proto.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
        rng = np.random.default_rng(0)
        for piece in proto.pieces:
            piece.score = -rng.uniform(3, 6) - rng.uniform(0, 1) * len(piece.piece)
    return SubwordTokenizer(proto.SerializeToString())


def sharpened(model, factor=1e5):
    """Returns a model of which all but the most probable segmentation have no chance."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    for piece in proto.pieces:
        piece.score *= factor
    return proto.SerializeToString()


def scores_of(tokenizer):
    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.model)
    return {piece.piece: piece.score for piece in proto.pieces if piece.type == piece.NORMAL}


def test_in_the_limit_pieces_are_the_usual_ones(tokenizer, algorithm):
    if algorithm == "bpe":
        sampler = SubwordSampler(tokenizer.model, 1e-12)
    else:
        sampler = SubwordSampler(sharpened(tokenizer.model), 0.9)
    assert sampler(TEXTS, np.random.default_rng(0)) == tokenizer.tokenize(TEXTS).to_list()


def test_pieces_may_reach_over_spaces(algorithm):
    text = ["the dog and the cat and the fox. " * 3]
    tokenizer = train(text, algorithm, vocab_size=60, split_by_whitespace=False)
    assert any(SPACE in piece[1:] for piece in tokenizer.pieces)
    lines = ["the dog and the fox", "the  cat\nand the"]
    model, dropout = tokenizer.model, 1e-12
    if algorithm == "unigram":
        model, dropout = sharpened(model), 0.9
    ids = SubwordSampler(model, dropout)(lines, np.random.default_rng(0))
    assert ids == tokenizer.tokenize(lines).to_list()


def merges_by_chance(symbols, scores, dropout):
    """Enumerates BPE-dropout: every segmentation of the symbols, and its probability."""
    merges = sorted(
        (-scores[one + other], place)
        for place, (one, other) in enumerate(itertools.pairwise(symbols))
        if one + other in scores
    )
    chances = Counter({symbols: dropout ** len(merges)})
    for better, (_, place) in enumerate(merges):
        merged = (*symbols[:place], "".join(symbols[place : place + 2]), *symbols[place + 2 :])
        for pieces, probability in merges_by_chance(merged, scores, dropout).items():
            chances[pieces] += dropout**better * (1 - dropout) * probability
    return chances


def segmentations(word, scores):
    """Enumerates every way to cut a word into pieces."""
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        if word[:end] in scores:
            yield from ((word[:end], *rest) for rest in segmentations(word[end:], scores))


def probabilities(tokenizer, algorithm, word, dropout):
    scores = scores_of(tokenizer)
    if algorithm == "bpe":
        return merges_by_chance(tuple(word), scores, dropout)
    masses = {
        pieces: np.exp(dropout * sum(scores[piece] for piece in pieces))
        for pieces in segmentations(word, scores)
    }
    return {pieces: mass / sum(masses.values()) for pieces, mass in masses.items()}


@pytest.mark.parametrize("remembered", [True, False])
@pytest.mark.parametrize("dropout", [0.15, 0.6])
def test_probabilities(tokenizer, algorithm, dropout, remembered, monkeypatch):
    if not remembered:
        monkeypatch.setattr(sampling, "_LONGEST_REMEMBERED", 0)
    draws = 10_000
    expected = probabilities(tokenizer, algorithm, f"{SPACE}brother", dropout)
    assert len(expected) > 10
    sampler = SubwordSampler(tokenizer.model, dropout)
    drawn = Counter(map(tuple, sampler(["brother"] * draws, np.random.default_rng(0))))
    ids = {piece: number for number, piece in enumerate(tokenizer.pieces)}
    expected = {(*(ids[p] for p in pieces), EOS_ID): share for pieces, share in expected.items()}
    assert drawn.keys() <= expected.keys()
    for row, share in expected.items():
        deviation = np.sqrt(draws * share * (1 - share))
        assert abs(drawn[row] - draws * share) < 4.5 * deviation + 1


@pytest.mark.parametrize("dropout", [0.1, 0.9])
def test_drawn_pieces_are_those_of_the_same_text(tokenizer, dropout):
    plain, drawn = tokenizer.tokenize(TEXTS), tokenizer.tokenize_sampled(TEXTS, dropout, seed=0)
    assert drawn.to_list() != plain.to_list()
    assert drawn.dtype == plain.dtype
    assert drawn.row_splits.dtype == plain.row_splits.dtype
    strings = tokenizer.detokenize(drawn).numpy().tolist()
    assert strings == tokenizer.detokenize(plain).numpy().tolist()


def test_no_dropout_and_no_text(tokenizer):
    usual = tokenizer.tokenize(TEXTS).to_list()
    assert tokenizer.tokenize_sampled(TEXTS, 0.0, seed=0).to_list() == usual
    assert tokenizer.tokenize_sampled([], 0.5, seed=0).to_list() == []
    assert tokenizer.tokenize_sampled(["", b" \t"], 0.5, seed=0).to_list() == [[EOS_ID]] * 2


def test_the_seed_decides_and_not_what_is_remembered(tokenizer):
    first = tokenizer.tokenize_sampled(TEXTS, 0.3, seed=(1, 2)).to_list()
    assert tokenizer.tokenize_sampled(TEXTS, 0.3, seed=(1, 2)).to_list() == first
    unused = SubwordSampler(tokenizer.model, 0.3)
    assert unused(TEXTS, np.random.default_rng((1, 2))) == first
    for other in (1, (2, 2), (1, 3)):
        assert tokenizer.tokenize_sampled(TEXTS, 0.3, seed=other).to_list() != first


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 2])
def test_dropout_out_of_range(tokenizer, dropout):
    with pytest.raises(ValueError, match=rf"`dropout` must be in .* Received: dropout={dropout}"):
        tokenizer.tokenize_sampled(["the"], dropout, seed=0)


@pytest.mark.parametrize("options", [("char", 16, ""), ("bpe", 30, "<x>")])
def test_models_of_which_no_pieces_are_drawn(options):
    kind, size, symbols = options
    text = ["the dog and the cat and the fox. "]
    tokenizer = train(text, kind, vocab_size=size, user_defined_symbols=symbols)
    with pytest.raises(ValueError, match=f"`model` must be .*type {kind.upper()}"):
        tokenizer.tokenize_sampled(["the"], 0.1, seed=0)
