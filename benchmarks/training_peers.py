"""The training steps that `train.py` compares: each takes batches and gives the loss of the last.

Each is a function `make(config, options)` of a `TransformerConfig`, which gives `train(batches)`:
one optimizer step for each `({"source", "target"}, labels)` of `TranslationBatches`, done when it
returns; every call gets the same batches. All have the model's size, tied embeddings, sinusoids,
label smoothing over real tokens, Adam, and dropout where the paper has it.
"""

import argparse
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer import TrainingConfig, Transformer, TransformerConfig, compile_model
from keras_transformer.data.batches import Arrays, TranslationBatches
from keras_transformer.data.corpora import open_corpus
from keras_transformer.data.planning import fit_plan
from keras_transformer.data.preprocessing import PairPreprocessor
from keras_transformer.data.sharing import Sharing
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import PAD_ID
from keras_transformer.training import LabelSmoothedCrossEntropy

Train = Callable[[Sequence[Arrays]], float]


@dataclasses.dataclass(frozen=True)
class Options:
    """What the steps have in common.

    Args:
        precision: Keras dtype policy; with "mixed_bfloat16", PyTorch runs under its autocast.
        threads: Threads of one operation.
        schedule: The learning rate of this package's step and PyTorch's; KerasHub's is constant.
        make_batches: Makes the batches anew, for what measures that as well.
    """

    precision: str = "float32"
    threads: int = 2
    schedule: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    make_batches: Callable[[], Iterator[Arrays]] | None = None


def translation_batches(
    arguments: argparse.Namespace, max_length: int, static_shapes: bool = False
) -> TranslationBatches:
    """Returns the batches of a corpus with a joint vocabulary that is trained on it.

    Args:
        arguments: Of a command line: corpus, source_language, target_language, vocab_size and
            batch_tokens.
        max_length: Most tokens of a sentence.
        static_shapes: Whether each bucket has one shape.
    """
    languages = (arguments.source_language, arguments.target_language)
    corpus = open_corpus(arguments.corpus, *languages)
    lines = itertools.chain.from_iterable(corpus)
    tokenizer = SubwordTokenizer.train(lines, arguments.vocab_size)
    preprocess = PairPreprocessor((tokenizer, tokenizer), max_length)
    plan, _ = fit_plan(corpus, preprocess, batch_tokens=arguments.batch_tokens)
    sharing = Sharing(static_shapes=static_shapes)
    return TranslationBatches(corpus, preprocess, plan, sharing=sharing)


def ours(config: TransformerConfig, options: Options) -> Train:
    """This package, as `train.py` compiles it, with its two metrics."""
    return fitted(compile_model(Transformer(config, dtype=options.precision), options.schedule))


def fitted(
    model: keras.Model, dataset: Callable[[Sequence[Arrays]], tf.data.Dataset] | None = None
) -> Train:
    """Runs a compiled Keras model by the function that `fit` calls for each step.

    Args:
        model: The model.
        dataset: Makes the endless dataset that it iterates over; `prefetched` by default.
    """
    model.make_train_function()
    iterator = None

    def train(batches: Sequence[Arrays]) -> float:
        nonlocal iterator
        # One for all rounds: TensorFlow can take seconds to give one up.
        iterator = iterator or iter((dataset or prefetched)(batches))
        for _ in range(0, len(batches), model.steps_per_execution):
            logs = model.train_function(iterator)
        return float(np.ravel(logs["loss"])[0])

    return train


def prefetched(batches: Iterable[Arrays], ahead: int = 8) -> tf.data.Dataset:
    """Gives batches over and over to a Keras model, as `TranslationBatches.dataset` does."""
    ids = tf.TensorSpec([None, None], tf.int32)
    signature = ({"source": ids, "target": ids}, ids)

    def endless() -> Iterator[Arrays]:
        while True:
            yield from batches

    dataset = tf.data.Dataset.from_generator(endless, output_signature=signature)
    return dataset.prefetch(ahead) if ahead else dataset


def keras_hub(config: TransformerConfig, options: Options) -> Train:
    """KerasHub's layers in a functional model; they drop out attention weights as well."""
    import keras_hub

    size = dict(
        intermediate_dim=config.d_ff,
        num_heads=config.num_heads,
        dropout=config.dropout,
        normalize_first=config.norm_first,
        dtype=options.precision,
    )
    embedding = keras_hub.layers.ReversibleEmbedding(
        config.vocab_size, config.d_model, dtype=options.precision
    )
    positions = keras_hub.layers.SinePositionEncoding(dtype=options.precision)

    def embed(ids):
        x = embedding(ids) * config.d_model**0.5
        return keras.layers.Dropout(config.dropout, dtype=options.precision)(x + positions(x))

    ids = {name: keras.Input([None], dtype="int32", name=name) for name in ("source", "target")}
    real = ops.not_equal(ids["source"], PAD_ID)
    memory, x = embed(ids["source"]), embed(ids["target"])
    for _ in range(config.num_layers):
        memory = keras_hub.layers.TransformerEncoder(**size)(memory, padding_mask=real)
    for _ in range(config.num_layers):
        x = keras_hub.layers.TransformerDecoder(**size)(x, memory, encoder_padding_mask=real)
    logits = ops.cast(embedding(x, reverse=True), "float32")
    model = keras.Model(ids, logits)
    model.compile(
        keras.optimizers.Adam(1e-4, beta_2=0.98, epsilon=1e-9),
        LabelSmoothedCrossEntropy(options.schedule.label_smoothing),
        jit_compile=False,
    )
    model.optimizer.build(model.trainable_variables)
    return fitted(model)


def pytorch(config: TransformerConfig, options: Options, compiled: bool = False) -> Train:
    """PyTorch's `nn.Transformer` with its fused Adam."""
    import torch
    from torch_transformer import TorchTransformer, smoothed_loss

    torch.set_num_threads(options.threads)
    module = TorchTransformer(config)
    without_extras(module.transformer)
    adam = torch.optim.Adam(module.parameters(), 1.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    warmup, factor = options.schedule.warmup_steps, options.schedule.learning_rate_factor

    # Plain numbers, because the operations of `TransformerSchedule` would count as PyTorch's time.
    def equation_3(steps):
        step = steps + 1
        return factor * config.d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)

    schedule = torch.optim.lr_scheduler.LambdaLR(adam, equation_3)
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=options.precision != "float32")

    def loss_of(source, target, labels):
        with autocast:
            logits = module(source, target)
        return smoothed_loss(logits, labels.long(), options.schedule.label_smoothing)

    if compiled:
        # One graph for all batch shapes, as the graphs of TensorFlow are.
        loss_of = torch.compile(loss_of, dynamic=True)

    def train(batches: Sequence[Arrays]) -> float:
        for inputs, labels in batches:
            arrays = (inputs["source"], inputs["target"], labels)
            adam.zero_grad()
            loss = loss_of(*map(torch.from_numpy, arrays))
            loss.backward()
            adam.step()
            schedule.step()
        return loss.item()

    return train


def compiled_pytorch(config: TransformerConfig, options: Options) -> Train:
    """The same under `torch.compile`."""
    return pytorch(config, options, compiled=True)


def without_extras(transformer) -> None:
    """Leaves the paper's: no norm after post-norm, no attention bias, no dropout in sub-layers."""
    from torch import nn

    transformer.encoder.norm = transformer.decoder.norm = None
    for layer in (*transformer.encoder.layers, *transformer.decoder.layers):
        layer.dropout = nn.Identity()
    for module in transformer.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
            module.in_proj_bias = module.out_proj.bias = None
