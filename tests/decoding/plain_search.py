"""Searches in plain Python, one sentence at a time, and the models that they are run on."""

import functools
import math

import keras
import numpy as np
import pytest
from keras import ops
from random_models import vary

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

BACKEND = keras.backend.backend()
HISTORIES = 1009


def on(name):
    return pytest.mark.skipif(name != BACKEND, reason=f"is about the {name} backend")


def several(values):
    """Values of a parameter, one of them on JAX, which compiles each search anew for seconds."""
    return values if BACKEND == "tensorflow" else values[-1:]


def as_arrays(found):
    return [ops.convert_to_numpy(part) for part in found]


def log_softmax(logits):
    logits = np.asarray(logits).astype("float64")
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


class HistoryModel:
    """Logits that depend on the sentence and on all of its tokens, by way of a hash of them.

    The state holds the hash of each hypothesis, so a step that does not follow the parents mixes
    histories up. Steps beyond the room that `resize` made give NaN.
    """

    def __init__(self, table):
        self.table = table

    @classmethod
    def random(cls, seed, batch, vocab=6, eos=0.0):
        table = np.random.default_rng(seed).normal(size=(batch, HISTORIES, vocab)) * 1.5
        table[..., EOS_ID] += eos
        return cls(table.astype("float32"))

    def start(self, beam_size=1, room=1000):
        return {
            "table": ops.convert_to_tensor(self.table),
            "hash": ops.zeros((len(self.table), beam_size), "int32"),
            "index": ops.zeros((), "int32"),
            "room": ops.convert_to_tensor(room, "int32"),
        }

    @staticmethod
    def step(tokens, parents, state):
        hashes = ops.take_along_axis(state["hash"], parents, axis=1) * 31 + tokens
        hashes = hashes % HISTORIES
        vocab = state["table"].shape[-1]
        sentences = ops.expand_dims(ops.arange(ops.shape(hashes)[0], dtype="int32"), 1)
        flat = ops.reshape(state["table"], (-1, vocab))
        logits = ops.take(flat, sentences * HISTORIES + hashes, axis=0)
        logits = ops.where(state["index"] < state["room"], logits, math.nan)
        return logits, {**state, "hash": hashes, "index": state["index"] + 1}

    @staticmethod
    def resize(state, rows, max_length):
        kept = {name: ops.take(state[name], rows, axis=0) for name in ("table", "hash")}
        return {**state, **kept, "room": max_length}

    def next_log_probs(self, sentence):
        """The same in plain Python: a function of the tokens so far."""

        def next_log_probs(ids):
            code = 0
            for token in (BOS_ID, *ids):
                code = (code * 31 + token) % HISTORIES
            return log_softmax(self.table[sentence, code])

        return next_log_probs


def random_transformer(seed, **changes):
    """A small model that says different things to different sentences."""
    size = dict(num_layers=2, d_model=16, d_ff=24, num_heads=2, max_length=16)
    dtype = changes.pop("dtype", None)
    config = dict(vocab_size=11, **size, tie_embeddings=False, norm_first=True)
    return vary(Transformer(TransformerConfig(**{**config, **changes}), dtype=dtype), seed)


SOURCE = np.array(
    [[4, 9, 6, 7, 5, 3], [8, 6, 3, 0, 0, 0], [3, 0, 0, 0, 0, 0], [5, 5, 10, 3, 0, 0]], "int32"
)


def without_padding(ids):
    # JAX compiles every shape; there, padding, which changes nothing, keeps it.
    return ids[:, : np.count_nonzero(ids)] if BACKEND == "tensorflow" else ids


def decoded_anew(model, sources):
    """For each source, the next log-probabilities of a Transformer that decodes all tokens again.

    One sentence at a time, and with no cache.
    """
    if BACKEND == "jax":
        import jax

        decode = jax.jit(model.decode)
    else:
        import tensorflow as tf

        # A graph for all lengths is much faster than eager execution.
        ids, memory = tf.TensorSpec([1, None], "int32"), [1, None, model.config.d_model]
        memory = tf.TensorSpec(memory, model.compute_dtype)
        decode = tf.function(model.decode, input_signature=[ids, memory, ids])

    def translating(source):
        source = without_padding(source[None])
        memory, known = model.encode(source), {}

        def next_log_probs(ids):
            if ids not in known:
                target = np.zeros((1, model.config.max_length), "int32")
                target[0, : len(ids) + 1] = (BOS_ID, *ids)
                logits = decode(without_padding(target), memory, source)
                known[ids] = log_softmax(ops.convert_to_numpy(logits)[0, len(ids)])
            return known[ids]

        return next_log_probs

    return [translating(source) for source in sources]


@functools.cache
def transformer_in_python(seed):
    """A small model, and `decoded_anew` of it and `SOURCE`: made once, because it takes long."""
    model = random_transformer(seed)
    return model, decoded_anew(model, SOURCE)


def mean_of(models):
    """The next log-probabilities of models that decide together."""
    return lambda ids: np.log(np.mean([np.exp(model(ids)) for model in models], axis=0))


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def anything(ids, vocab):
    return set(range(vocab)) - {PAD_ID, BOS_ID}


def all_hypotheses(next_log_probs, limit, ids=(), log_prob=0.0):
    """Yields every translation that there is, with its log-probability."""
    if len(ids) == limit or EOS_ID in ids:
        yield ids, log_prob
        return
    log_probs = next_log_probs(ids)
    for token in anything(ids, len(log_probs)):
        yield from all_hypotheses(next_log_probs, limit, (*ids, token), log_prob + log_probs[token])


def best_of_all(next_log_probs, limit, alpha, n):
    scored = [
        (ids, log_prob, log_prob / penalty(len(ids), alpha))
        for ids, log_prob in all_hypotheses(next_log_probs, limit)
    ]
    return sorted(scored, key=lambda found: -found[2])[:n]


def beam_search_in_python(
    next_log_probs, limit, beam_size, alpha=0.0, n=1, allowed=anything, bonus=lambda ids: 0.0
):
    """Returns up to n triples of ids, log-probability and score, best first."""
    if limit <= 0:
        return [((), 0.0, 0.0)]
    live, ended = [((), 0.0)], []
    for length in range(1, limit + 1):
        extended = []
        for ids, log_prob in live:
            log_probs = next_log_probs(ids)
            extended += [
                ((*ids, token), log_prob + log_probs[token])
                for token in allowed(ids, len(log_probs))
            ]
        extended.sort(key=lambda one: -one[1])
        for ids, log_prob in extended[:beam_size]:
            if ids[-1] == EOS_ID or length == limit:
                ended.append((ids, log_prob, log_prob / penalty(length, alpha) + bonus(ids)))
        ended = sorted(ended, key=lambda one: -one[2])[:n]
        live = [one for one in extended if one[0][-1] != EOS_ID][:beam_size]
        # The most that a live hypothesis can reach: not a bit less probable, and the longest.
        if not live or (len(ended) == n and ended[-1][2] >= live[0][1] / penalty(limit, alpha)):
            break
    return ended


def assert_found(found, expected, rtol=1e-5):
    """Compares with triples of ids, log-probability and score for each sentence."""
    ids, log_probs, scores = as_arrays(found)
    assert (ids.dtype, log_probs.dtype, scores.dtype) == ("int32", "float32", "float32")
    assert len(ids) == len(log_probs) == len(scores) == len(expected)
    for i, best in enumerate(expected):
        padded = [(*row, *[PAD_ID] * (ids.shape[2] - len(row))) for row, _, _ in best]
        missing = ids.shape[1] - len(best)
        padded += [(PAD_ID,) * ids.shape[2]] * missing
        assert ids[i].tolist() == [list(row) for row in padded]
        for found_numbers, column in ((log_probs[i], 1), (scores[i], 2)):
            numbers = [row[column] for row in best] + [-math.inf] * missing
            np.testing.assert_allclose(found_numbers, numbers, rtol=rtol, atol=1e-6)
