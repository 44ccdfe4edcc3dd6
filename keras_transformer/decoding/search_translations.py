"""Searches with models: what links `search` to `Seq2Seq` and to a `DecodingConfig`."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.constraints import (
    at_least,
    ban_tokens,
    forced_prefix,
    no_repeated_ngram,
)
from keras_transformer.decoding.ensemble import ensemble_fix, ensemble_resize, ensemble_step
from keras_transformer.decoding.hypotheses import Hypotheses
from keras_transformer.decoding.penalties import LENGTH_PENALTIES, coverage_penalty
from keras_transformer.decoding.sampling import sample
from keras_transformer.decoding.search import Bonus, Constraint, Rooms, SearchOptions
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.tensors import Tensor
from keras_transformer.text.vocabulary import PAD_ID

# Most sentences need no more. Each further room is a loop in a graph, for which TFLite packs the
# weights once more, so they are few.
_FIRST_ROOM = 32


def search_translations(
    models: Sequence[Seq2Seq],
    source: Tensor,
    config: DecodingConfig = DecodingConfig(),
    *,
    banned_ids: Sequence[int] = (),
    prefix: Tensor | None = None,
    max_tokens: Tensor | None = None,
    alpha: Tensor | None = None,
    fixed_length: int | None = None,
    grow: bool = True,
    num_hypotheses: int | None = None,
    seed: Tensor | None = None,
    places: Tensor | None = None,
) -> Hypotheses:
    """Searches translations of source ids.

    Args:
        models: The model, or several of one vocabulary that decide together.
        source: int32 `[batch, source_length]`, each row ending with eos and then padded.
        config: How to search.
        banned_ids: Target tokens that are never chosen.
        prefix: int32 `[batch, prefix_length]`, tokens that translations begin with, then padding;
            None for none.
        max_tokens: int32 `[batch]`, most tokens of each translation, eos included, at least 1; None
            for no other bound than those of `config` and the model.
        alpha: float32 `[batch]`, exponent of each sentence's length penalty; None for that of
            `config`.
        fixed_length: The most tokens of a source and a translation. Room for them is made in steps
            of fixed lengths, so that the shapes in each loop are the same whatever the source:
            what TFLite wants. None for room that the source's shape gives.
        grow: Whether room grows as it is needed, and sentences that are done leave the batch, on
            TensorFlow; otherwise all shapes follow from the source's: what XLA wants.
        num_hypotheses: Translations of each sentence; None for what `config` says.
        seed: int32 `[2]`, random bits for sampling; None for what `config` says.
        places: int32 `[batch, 2]`, for sampling; see `sample`.

    Returns:
        The best `num_hypotheses` translations of each sentence.

    Example:
        >>> found = search_translations([model], np.array([[5, 6, 3]], "int32"))
        >>> tuple(found.log_probs.shape)
        (1, 1)
    """
    limits, max_length = _lengths(models, source, config, prefix, max_tokens, fixed_length)
    # Elsewhere there is room for all from the start: no other backend has loops that change shapes.
    grows = grow and keras.backend.backend() == "tensorflow" and fixed_length is None
    n = num_hypotheses or config.num_hypotheses
    beam_size = n if config.sampling else config.beam_size
    lengths = [max_length] if fixed_length is None else _room_lengths(fixed_length)
    states = _start(models, source, config, beam_size, 0 if grows else lengths[0])
    options: SearchOptions = {
        "constraints": _constraints(config, banned_ids, prefix),
        "inputs": {} if prefix is None else {"prefix": prefix},
        "resize": ensemble_resize([model.resize_decoding for model in models]) if grows else None,
        "rooms": None if fixed_length is None else _rooms(models, source, lengths, states),
        "bonus": _coverage_bonus(models, config.coverage_penalty),
    }
    sentences = ensemble_step([model.decode_step for model in models]), states, limits, max_length
    if config.sampling:
        return sample(
            *sentences,
            num_hypotheses=n,
            temperature=config.temperature,
            top_k=config.top_k or None,
            top_p=config.top_p,
            seed=config.seed if seed is None else seed,
            places=places,
            **options,
        )
    options["penalty"] = LENGTH_PENALTIES[config.length_normalization]
    options["early_stopping"] = config.early_stopping
    return beam_search(
        *sentences,
        beam_size=config.beam_size,
        alpha=config.length_penalty if alpha is None else alpha,
        num_hypotheses=n,
        **options,
    )


def _start(
    models: Sequence[Seq2Seq],
    source: Tensor,
    config: DecodingConfig,
    beam_size: int,
    max_length: int | Tensor,
) -> list[Any]:
    """Returns each model's state before the first token, with room for `max_length` steps."""
    return [
        model.start_decoding(source, max_length, beam_size, coverage=config.coverage_penalty > 0)
        for model in models
    ]


def _rooms(
    models: Sequence[Seq2Seq], source: Tensor, lengths: Sequence[int], begun: list[Any]
) -> Rooms:
    fix = ensemble_fix([model.fix_decoding for model in models], begun)
    return Rooms(lengths, ops.shape(source)[1], fix)


def _room_lengths(longest: int) -> list[int]:
    """Returns the length of the first room, four times that, and so on up to the longest."""
    lengths = (_FIRST_ROOM * 4**times for times in range(longest.bit_length()))
    return [*(length for length in lengths if length < longest), longest]


def _lengths(
    models: Sequence[Seq2Seq],
    source: Tensor,
    config: DecodingConfig,
    prefix: Tensor | None,
    max_tokens: Tensor | None,
    fixed_length: int | None,
) -> tuple[Tensor, int | Tensor]:
    """Returns the limit of each sentence, and a bound of all limits."""

    def lengths(ids: Tensor) -> Tensor:
        return ops.sum(ops.cast(ops.not_equal(ids, PAD_ID), "int32"), axis=1)

    limits = lengths(source) + config.max_extra_tokens
    longest = ops.shape(source)[1] + config.max_extra_tokens
    if prefix is not None:
        # Room for the prefix and an eos.
        limits = ops.maximum(limits, lengths(prefix) + 1)
        longest = longest + ops.shape(prefix)[1] + 1
    if max_tokens is not None:
        limits = ops.minimum(limits, ops.maximum(max_tokens, 1))
    most = min(model.config.max_length for model in models)
    limits = ops.minimum(limits, most)
    if fixed_length is not None:
        return limits, fixed_length
    return limits, min(longest, most) if isinstance(longest, int) else ops.minimum(longest, most)


def _constraints(
    config: DecodingConfig, banned_ids: Sequence[int], prefix: Tensor | None
) -> list[Constraint]:
    constraints: list[Constraint] = []
    if banned_ids:
        constraints.append(ban_tokens(banned_ids))
    if config.min_length:
        constraints.append(at_least(config.min_length))
    if config.no_repeat_ngram:
        constraints.append(no_repeated_ngram(config.no_repeat_ngram))
    if prefix is not None:
        constraints.append(forced_prefix)
    return constraints


def _coverage_bonus(models: Sequence[Seq2Seq], beta: float) -> Bonus | None:
    if not beta:
        return None

    def bonus(states: Sequence[Any]) -> Tensor:
        penalties = [
            coverage_penalty(*model.coverage(state), beta)
            for model, state in zip(models, states, strict=True)
        ]
        return sum(penalties) / len(penalties)

    return bonus
