"""Subword regularisation: the same text, cut into other pieces at each reading.

SentencePiece has it too, but salts its random numbers anew in each process, so that no run could be
repeated or resumed. Here the caller's generator draws. A word takes few draws, and the ids that
follow from them are remembered, so that most words of a corpus are looked up.
"""

import bisect
import functools
import heapq
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from keras_transformer.text.vocabulary import EOS_ID, UNK_ID

Ids = tuple[int, ...]
Pieces = Mapping[str, tuple[int, float]]

_SPACE = "\u2581"
_DRAWS = 4096
# Words whose results are remembered; these take about 250 MiB at most.
_REMEMBERED = 2**16
# Longer words, such as a line of a script without spaces, hardly ever come again.
_LONGEST_REMEMBERED = 32
# SentencePiece's penalty on a character without a piece, in nats below the rarest piece.
_UNKNOWN_PENALTY = 10.0


# For each end in a word, from 0: the bounds between the shares of [0, 1) of the pieces that end
# there, where each of these pieces starts, and its ids.
Lattice = list[tuple[list[float], list[int], list[Ids]]]


class _Method(Protocol):
    """What draws the ids of a word, and what it draws them by."""

    def draws(self, rng: np.random.Generator) -> Iterator[Any]:
        """Yields without end what `sample` takes."""

    def sample(self, word: str, draws: Iterator[Any]) -> Ids:
        """Draws the ids of a word."""


class SubwordSampler:
    """Draws segmentations of lines.

    Args:
        model: A serialized SentencePiece model, "bpe" or "unigram".
        dropout: Of "bpe", the probability with which a merge is left out (BPE-dropout), anew each
            time that two pieces are merged; SentencePiece, which leaves it out for good, cuts much
            finer with the same number. Of "unigram", alpha: a segmentation's probability is raised
            to this power.

    Raises:
        ValueError: If `dropout` is out of its range or the model is of another kind.

    Example:
        >>> sampler = SubwordSampler(tokenizer.model, dropout=0.1)
        >>> [ids] = sampler(["a small dog"], np.random.default_rng(0))
        >>> tokenizer.detokenize([ids]).numpy().tolist()
        [b'a small dog']

    Reference:
        "BPE-Dropout", arXiv 1910.13267; "Subword Regularization", arXiv 1804.10959.
    """

    def __init__(self, model: bytes, dropout: float) -> None:
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2

        if not 0.0 < dropout < 1.0:
            raise ValueError(f"`dropout` must be in (0, 1). Received: dropout={dropout}")
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        kind = proto.trainer_spec.model_type
        methods: dict[int, Callable[..., _Method]]
        methods = {proto.trainer_spec.BPE: BpeDropout, proto.trainer_spec.UNIGRAM: UnigramSampling}
        piece_types = proto.SentencePiece.Type
        if kind not in methods or any(p.type == piece_types.USER_DEFINED for p in proto.pieces):
            raise ValueError(
                '`model` must be a "bpe" or "unigram" model without user-defined symbols to have '
                "its pieces drawn; train one with `SubwordTokenizer.train`, or set the dropout to "
                f"0. Received: a model of type {proto.trainer_spec.ModelType.Name(kind)}"
            )
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces = {
            piece.piece: (number, piece.score)
            for number, piece in enumerate(proto.pieces)
            if piece.type == piece_types.NORMAL
        }
        self._method = methods[kind](pieces, self._spell_unknown, dropout)
        crosses_words = any(_SPACE in piece[1:] for piece in pieces)
        self._words = re.compile(".+" if crosses_words else f"{_SPACE}?[^{_SPACE}]+|{_SPACE}", re.S)

    def __call__(self, lines: Sequence[str | bytes], rng: np.random.Generator) -> list[list[int]]:
        """Cuts lines into pieces.

        Args:
            lines: The lines.
            rng: Source of the draws.

        Returns:
            The ids of each line, ending with eos.
        """
        draws = self._method.draws(rng)
        texts = [line.encode() if isinstance(line, str) else bytes(line) for line in lines]
        return [self._line(text.decode(), draws) for text in self._processor.normalize(texts)]

    def _line(self, text: str, draws: Iterator[Any]) -> list[int]:
        sample = self._method.sample
        ids = [number for word in self._words.findall(text) for number in sample(word, draws)]
        if UNK_ID in ids:
            # A run of unknown characters is one piece.
            runs = zip(ids, [None, *ids], strict=False)
            ids = [one for one, before in runs if not one == before == UNK_ID]
        return [*ids, EOS_ID]

    def _spell_unknown(self, character: str) -> Ids:
        """Returns the ids of a character without a piece: its bytes, or unk."""
        names = [f"<0x{byte:02X}>" for byte in character.encode()]
        ids = self._processor.piece_to_id(names)
        return (UNK_ID,) if UNK_ID in ids else tuple(ids)


class BpeDropout:
    """Byte-pair merges, each left out with a probability (BPE-Dropout, Algorithm 1).

    In each round merges come up from the best to the worst, until one is not left out and is made.
    The last round leaves out all merges that are possible. So a segmentation is a function of the
    word and of the merges that are left out, counted in the order in which they come up.

    Args:
        pieces: Id and score of each piece; the highest score is merged first.
        spell_unknown: Gives the ids of a character without a piece.
        dropout: The probability.
    """

    def __init__(self, pieces: Pieces, spell_unknown: Callable[[str], Ids], dropout: float) -> None:
        self._ids = {piece: (number,) for piece, (number, _) in pieces.items()}
        self._ranks = {piece: -score for piece, (_, score) in pieces.items()}
        self._spell_unknown = spell_unknown
        self._dropout = dropout
        self._remembered = functools.lru_cache(_REMEMBERED)(self._merged)

    def draws(self, rng: np.random.Generator) -> Iterator[int]:
        """Yields without end how many merges come up until one is left out, that one included."""
        while True:
            yield from rng.geometric(self._dropout, _DRAWS).tolist()

    def sample(self, word: str, draws: Iterator[int]) -> Ids:
        """Draws the ids of a word."""
        if len(word) > _LONGEST_REMEMBERED:
            return self._merged(word, itertools.accumulate(draws, initial=next(draws) - 1))[0]
        left_out: Ids = ()
        number = -1
        while True:
            ids, merges = self._remembered(word, left_out)
            number += next(draws)
            if number >= merges:
                return ids
            left_out += (number,)

    def _merged(self, word: str, left_out: Iterable[int]) -> tuple[Ids, int]:
        """Merges a word without some of the merges; returns its ids and how many came up."""
        symbols, left_out, merges = list(word), iter(left_out), 0
        before, after = list(range(-1, len(word) - 1)), list(range(1, len(word) + 1))
        agenda = list(self._candidates(symbols, *itertools.pairwise(range(len(word)))))
        heapq.heapify(agenda)
        next_left_out, set_aside = next(left_out, None), []
        while agenda:
            _, left, right, length = candidate = heapq.heappop(agenda)
            one, other = symbols[left], symbols[right]
            if not one or not other or len(one) + len(other) != length:
                continue  # One of the two has been merged with another since.
            merges += 1
            if merges - 1 == next_left_out:
                next_left_out = next(left_out, None)
                set_aside.append(candidate)
                continue
            symbols[left], symbols[right] = one + other, ""
            after[left] = after[right]
            if after[left] < len(symbols):
                before[after[left]] = left
            neighbours = (before[left], left), (left, after[left])
            for candidate in (*set_aside, *self._candidates(symbols, *neighbours)):
                heapq.heappush(agenda, candidate)
            set_aside.clear()
        spelled = (self._ids.get(s) or self._spell_unknown(s) for s in symbols if s)
        return tuple(itertools.chain.from_iterable(spelled)), merges

    def _candidates(
        self, symbols: Sequence[str], *neighbours: tuple[int, int]
    ) -> Iterator[tuple[float, int, int, int]]:
        """Yields rank, places and joint length of neighbours that may be merged."""
        for left, right in neighbours:
            if left >= 0 and right < len(symbols):
                merged = symbols[left] + symbols[right]
                if merged in self._ranks:
                    yield self._ranks[merged], left, right, len(merged)


class UnigramSampling:
    """Segmentations drawn by their probability under a unigram model, raised to a power.

    Args:
        pieces: Id and log probability of each piece.
        spell_unknown: Gives the ids of a character without a piece.
        alpha: The power; near 0 all segmentations are alike.
    """

    def __init__(self, pieces: Pieces, spell_unknown: Callable[[str], Ids], alpha: float) -> None:
        self._ids = {piece: (number,) for piece, (number, _) in pieces.items()}
        self._scores = {piece: alpha * score for piece, (_, score) in pieces.items()}
        self._unknown = min(self._scores.values()) - alpha * _UNKNOWN_PENALTY
        self._longest = max(map(len, pieces))
        self._spell_unknown = spell_unknown
        self._remembered = functools.lru_cache(_REMEMBERED)(self._lattice)

    def draws(self, rng: np.random.Generator) -> Iterator[float]:
        """Yields numbers in [0, 1) without end."""
        while True:
            yield from rng.random(_DRAWS).tolist()

    def sample(self, word: str, draws: Iterator[float]) -> Ids:
        """Draws the ids of a word, its last piece first."""
        remember = len(word) <= _LONGEST_REMEMBERED
        lattice = self._remembered(word) if remember else self._lattice(word)
        end, spelled = len(word), []
        while end:
            bounds, starts, ids = lattice[end]
            place = bisect.bisect(bounds, next(draws))
            spelled.append(ids[place])
            end = starts[place]
        return tuple(itertools.chain.from_iterable(reversed(spelled)))

    def _lattice(self, word: str) -> Lattice:
        """Lists, for each end of a piece, the pieces that end there and their probabilities."""
        lattice: Lattice = [([], [], [])]
        log_masses = [0.0]
        for end in range(1, len(word) + 1):
            starts, ids, logs = [], [], []
            for start in range(max(0, end - self._longest), end):
                piece = word[start:end]
                if piece in self._scores or len(piece) == 1:
                    starts.append(start)
                    ids.append(self._ids.get(piece) or self._spell_unknown(piece))
                    logs.append(log_masses[start] + self._scores.get(piece, self._unknown))
            peak = max(logs)
            masses = list(itertools.accumulate(math.exp(log - peak) for log in logs))
            log_masses.append(peak + math.log(masses[-1]))
            lattice.append(([mass / masses[-1] for mass in masses[:-1]], starts, ids))
        return lattice


@functools.lru_cache(maxsize=4)
def subword_sampler(model: bytes, dropout: float) -> SubwordSampler:
    """Returns the sampler of a model; later calls get the same one, with what it remembers."""
    return SubwordSampler(model, dropout)
