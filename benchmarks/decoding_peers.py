"""The decoders that `decode.py` compares: each takes ids and gives ids.

Each is a function `make(model, threads)` of a trained or random `Transformer`, which gives
`translate(sentences, beam_size, length)`: sentences are lists of ids that end with eos, in batches
of their own making of at most `BATCH` sentences of like lengths. `length` forces that many output
tokens; None lets sentences end. No length penalty anywhere, so that all search for the same.
"""

import functools
import tempfile
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer import DecodingConfig, Transformer
from keras_transformer.config.search_shapes import SearchShape, one_sentence
from keras_transformer.decoding import search_translations
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.export.huggingface import marian_options, marian_weights
from keras_transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.translation.compiled_search import CompiledSearch
from keras_transformer.translation.translator import Translator

BATCH = 64
Ids = list[list[int]]
Translate = Callable[..., Ids]


def ours(model: Transformer, threads: int, shapes: Sequence[SearchShape] = ()) -> Translate:
    """This package: one graph for each way to search, by XLA where sentences fit the shapes."""
    graphs = {}

    def graph(beam_size, length, extra):
        if (beam_size, length, extra) not in graphs:
            config = DecodingConfig(
                beam_size=beam_size,
                length_penalty=0.0,
                max_extra_tokens=extra,
                min_length=length or 1,
            )

            def search(source, prefix=None, grow=True):
                return search_translations([model], source, config, grow=grow)

            if shapes:
                static = functools.partial(search, grow=False)
                by_xla = tf.function(static, jit_compile=True, autograph=False)
                search = CompiledSearch(search, by_xla, shapes)
            graphs[beam_size, length, extra] = tf.function(
                lambda source: search(source).ids[:, 0],
                input_signature=[tf.TensorSpec([None, None], tf.int32)],
                autograph=False,
            )
        return graphs[beam_size, length, extra]

    def translate(sentences: Ids, beam_size: int, length: int | None = None) -> Ids:
        # Sources of a forced length are all of one length.
        extra = 50 if length is None else length - len(sentences[0])

        def run(batch):
            found = graph(beam_size, length, extra)(tf.constant(padded(batch)))
            return [until_eos(row) for row in found.numpy()]

        return in_batches(run, sentences)

    return translate


def ours_compiled(model: Transformer, threads: int) -> Translate:
    """This package as with `--compile`."""
    return ours(model, threads, one_sentence(model.config.max_length))


def ctranslate2(model: Transformer, threads: int, compute_type: str = "float32") -> Translate:
    """CTranslate2 on the same weights."""
    import ctranslate2

    pieces = [str(i) for i in range(model.config.vocab_size)]
    vocabulary = SimpleNamespace(
        vocab_size=len(pieces), pieces=pieces, tags={}, save=lambda path: path.touch()
    )
    with tempfile.TemporaryDirectory() as folder:
        path = export_ctranslate2(Translator(model, vocabulary), folder)
        engine = ctranslate2.Translator(
            str(path), compute_type=compute_type, intra_threads=threads, inter_threads=1
        )

    def translate(sentences: Ids, beam_size: int, length: int | None = None) -> Ids:
        results = engine.translate_batch(
            [[str(i) for i in sentence[:-1]] for sentence in sentences],
            beam_size=beam_size,
            max_batch_size=BATCH,
            length_penalty=0,
            max_decoding_length=length or 256,
            min_decoding_length=length or 1,
        )
        return [[int(token) for token in result.hypotheses[0]] for result in results]

    return translate


def ctranslate2_int8(model: Transformer, threads: int) -> Translate:
    """CTranslate2 with weights and products in int8."""
    return ctranslate2(model, threads, "int8")


def marian(model: Transformer, threads: int) -> Translate:
    """Hugging Face's Marian model on PyTorch, on the same weights."""
    import torch
    import transformers

    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    config = transformers.MarianConfig(**marian_options(model.config))
    twin = transformers.MarianMTModel(config).eval()
    weights = {name: torch.tensor(value) for name, value in marian_weights(model).items()}
    # Names that are left out are those of what is tied, and of the sinusoids.
    twin.load_state_dict(weights, strict=False)

    def translate(sentences: Ids, beam_size: int, length: int | None = None) -> Ids:
        def run(batch):
            ids = torch.tensor(padded(batch), dtype=torch.long)
            with torch.inference_mode():
                found = twin.generate(
                    ids,
                    attention_mask=(ids != PAD_ID).long(),
                    num_beams=beam_size,
                    do_sample=False,
                    length_penalty=0.0,
                    early_stopping=False,
                    max_new_tokens=length or ids.shape[1] + 50,
                    min_new_tokens=length or 1,
                )
            return [until_eos(row[1:]) for row in found.tolist()]

        return in_batches(run, sentences)

    return translate


def keras_hub(model: Transformer, threads: int) -> Translate:
    """KerasHub's encoder, decoder and samplers, on random weights of the same size."""
    import keras_hub

    config = model.config
    size = dict(intermediate_dim=config.d_ff, num_heads=config.num_heads)
    encoders = [keras_hub.layers.TransformerEncoder(**size) for _ in range(config.num_layers)]
    decoders = [keras_hub.layers.TransformerDecoder(**size) for _ in range(config.num_layers)]
    embedding = keras_hub.layers.ReversibleEmbedding(config.vocab_size, config.d_model)
    positions = keras_hub.layers.SinePositionEncoding()

    def encode(source):
        x = embedding(source)
        x = x + positions(x)
        for layer in encoders:
            x = layer(x, padding_mask=ops.not_equal(source, PAD_ID))
        return x

    def graph(beam_size, length):
        sampler = (
            keras_hub.samplers.BeamSampler(num_beams=beam_size)
            if beam_size > 1
            else keras_hub.samplers.GreedySampler()
        )

        def step(prompt, cache, index):
            tokens = ops.reshape(ops.take(prompt, [index - 1], axis=1), (-1, 1))
            x = embedding(tokens)
            x = x + positions(x, start_index=index - 1)
            own, cross = [], []
            for layer, mine, memorys in zip(decoders, cache["own"], cache["cross"], strict=True):
                x, mine, memorys = layer(
                    x,
                    encoder_sequence=cache["memory"],
                    encoder_padding_mask=cache["mask"],
                    self_attention_cache=mine,
                    self_attention_cache_update_index=index - 1,
                    cross_attention_cache=memorys,
                    cross_attention_cache_update_index=None,
                )
                own.append(mine)
                cross.append(memorys)
            logits = ops.squeeze(embedding(x, reverse=True), 1)
            return logits, x, {**cache, "own": own, "cross": cross}

        def run(source):
            memory = encode(source)
            batch_size = ops.shape(source)[0]
            heads = (config.num_heads, config.d_model // config.num_heads)
            empty = ops.zeros((batch_size, 2, length + 1, *heads))
            cache = {
                "memory": memory,
                "mask": ops.not_equal(source, PAD_ID),
                "own": [empty] * config.num_layers,
                "cross": [],
            }
            start = ops.full((batch_size, 1), BOS_ID, "int32")
            for layer in decoders:
                # A first call with an update index of 0 fills the cache of the memory.
                *_, cross = layer(
                    ops.zeros((batch_size, 1, config.d_model)),
                    encoder_sequence=memory,
                    self_attention_cache=empty,
                    self_attention_cache_update_index=0,
                    cross_attention_cache=ops.zeros((batch_size, 2, ops.shape(source)[1], *heads)),
                    cross_attention_cache_update_index=0,
                )
                cache["cross"].append(cross)
            prompt = ops.pad(start, [[0, 0], [0, length]])
            mask = ops.pad(ops.ones_like(start, "bool"), [[0, 0], [0, length]])
            return sampler(step, prompt, cache, index=1, mask=mask, stop_token_ids=None)

        return tf.function(run, autograph=False)

    graphs = {}

    def translate(sentences: Ids, beam_size: int, length: int | None = None) -> Ids:
        if length is None:
            raise ValueError("`length` must be given: KerasHub's twin has random weights.")
        key = beam_size, length
        if key not in graphs:
            graphs[key] = graph(*key)

        def run(batch):
            return graphs[key](tf.constant(padded(batch))).numpy()[:, 1:].tolist()

        return in_batches(run, sentences)

    return translate


def padded(sentences: Sequence[Sequence[int]]) -> np.ndarray:
    """Puts sentences into one array, int32 `[batch, length]`."""
    ids = np.full((len(sentences), max(map(len, sentences))), PAD_ID, np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return ids


def until_eos(row: Sequence[int]) -> list[int]:
    """Returns the tokens before eos."""
    row = [int(i) for i in row]
    return row[: row.index(EOS_ID)] if EOS_ID in row else [i for i in row if i != PAD_ID]


def in_batches(run: Callable[[Ids], Ids], sentences: Ids) -> Ids:
    """Runs batches of like lengths and returns the results in the order of the sentences."""
    order = np.argsort([-len(sentence) for sentence in sentences], kind="stable")
    results: Ids = [[]] * len(sentences)
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        for i, result in zip(batch, run([sentences[i] for i in batch]), strict=True):
            results[i] = result
    return results
