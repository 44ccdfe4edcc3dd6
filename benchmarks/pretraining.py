"""Speed of BERT's pre-training beside `transformers` on PyTorch, on the same batches.

`python benchmarks/pretraining.py phrasebook:train --preset bert_base`, or a file with a sentence a
line and a blank line between documents. All take their turns in one process, each with all batches
in each round; medians count. A step is the same work in each: both losses, the gradient, its norm
clipped, and AdamW that spares biases and norms. Tokens are real, not padding. `transformers` gives
logits of all places; "masked places" is its model asked for those of them alone, as here.
Needs `pip install -e ".[benchmarks]"`.
"""

import argparse
import dataclasses
import importlib.metadata
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from training_peers import Options, fitted
from turns import measure

from keras_transformer import BertConfig, DocumentsConfig, MaskedLMConfig
from keras_transformer.config.masked_lm import BERT_TRAINING
from keras_transformer.data.documents import open_documents
from keras_transformer.data.pretraining import Batch, PretrainingBatches, fit_plan
from keras_transformer.tasks import TASKS
from keras_transformer.text.wordpiece import WordPieceTokenizer
from keras_transformer.training.optimizer import compile_model

# Takes batches, gives the loss of the last one.
Train = Callable[[Sequence[Batch]], float]


def ours(config: BertConfig, options: Options) -> Train:
    """This package, as the task `masked_lm` compiles it, with its metrics."""
    task = TASKS["masked_lm"]
    training = dataclasses.replace(BERT_TRAINING, precision=options.precision)
    run = MaskedLMConfig(config, training=training)
    model = compile_model(task.model(run), training, task.loss(run), task.metrics(run))
    return fitted(model, prefetched)


def prefetched(batches: Sequence[Batch]) -> tf.data.Dataset:
    """Gives batches over and over, as `PretrainingBatches.dataset` does those of an epoch."""
    ids = tf.TensorSpec([None, None], tf.int32)
    signature = tuple(dict.fromkeys(part, ids) for part in batches[0])
    endless = tf.data.Dataset.from_generator(
        lambda: itertools.cycle(batches), output_signature=signature
    )
    return endless.prefetch(8)


def transformers_model(config: BertConfig) -> Any:
    """Returns `BertForPreTraining` of the same shape."""
    import transformers

    return transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            intermediate_size=config.d_ff,
            hidden_dropout_prob=config.dropout,
            attention_probs_dropout_prob=config.attention_dropout,
            max_position_embeddings=config.max_length,
        )
    )


def pytorch(
    config: BertConfig, options: Options, compiled: bool = False, all_places: bool = False
) -> Train:
    """`transformers` on PyTorch, with its fused AdamW.

    Args:
        config: The model.
        options: What the steps have in common.
        compiled: Under `torch.compile`.
        all_places: Compute logits of all places, as the model's own loss does.
    """
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(options.threads)
    model, training = transformers_model(config).train(), BERT_TRAINING
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    spared = [weight for weight in model.parameters() if weight.ndim == 1]
    adam = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": training.weight_decay},
            {"params": spared, "weight_decay": 0.0},
        ],
        training.peak_learning_rate,
        betas=(training.beta_1, training.beta_2),
        eps=training.epsilon,
        fused=True,
    )
    warmup, steps = training.warmup_steps, training.max_steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda step: min((step + 1) / warmup, 1 - step / steps)
    )
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=options.precision != "float32")

    def loss_of(ids, segments, places, words, follows):
        mask = ids != 0
        with autocast:
            vectors, pooled = model.bert(ids, mask, segments, return_dict=False)
            if all_places:
                # Padded places are the first one's, which is never masked.
                at_places = torch.zeros_like(ids).scatter_add_(1, places, words)
            else:
                rows = torch.arange(len(ids))[:, None]
                vectors, at_places = vectors[rows, places], words
            logits, is_next = model.cls(vectors, pooled)
        masked = cross_entropy(logits.float().flatten(0, 1), at_places.flatten(), ignore_index=0)
        return masked + cross_entropy(is_next.float(), follows[:, 0] - 1)

    if compiled:
        # One graph for all batch shapes, as the graphs of TensorFlow are.
        loss_of = torch.compile(loss_of, dynamic=True)

    def train(batches: Sequence[Batch]) -> float:
        for inputs, labels in batches:
            arrays = (*inputs.values(), labels["masked"], labels["next"])
            adam.zero_grad()
            loss = loss_of(*(torch.from_numpy(array).long() for array in arrays))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip_norm)
            adam.step()
            schedule.step()
        return loss.item()

    return train


def all_places(config: BertConfig, options: Options) -> Train:
    """`transformers` as it is."""
    return pytorch(config, options, all_places=True)


def compiled_pytorch(config: BertConfig, options: Options) -> Train:
    """`transformers`, asked for masked places alone, under `torch.compile`."""
    return pytorch(config, options, compiled=True)


MODELS = {
    "keras_transformer": ours,
    "transformers": all_places,
    "transformers, masked places": pytorch,
    "transformers, masked places, compiled": compiled_pytorch,
}


def corpus_batches(arguments: argparse.Namespace) -> Iterator[Batch]:
    """Yields the first batches of a corpus, with a vocabulary that is trained on it."""
    documents = open_documents(arguments.corpus)
    tokenizer = WordPieceTokenizer.train(documents.sentences(), arguments.vocab_size, fit=True)
    data = DocumentsConfig(length=arguments.length, batch_tokens=arguments.batch_tokens)
    plan = fit_plan(documents, tokenizer, data)
    batches = PretrainingBatches(documents, tokenizer, data, plan)
    return itertools.islice(batches.epoch(0), arguments.batches)


def report(seconds: dict[str, list[float]], batches: Sequence[Batch]) -> None:
    """Prints a Markdown table."""
    tokens = sum(np.count_nonzero(inputs["ids"]) for inputs, _ in batches)
    first, reference = next((name, np.median(times)) for name, times in seconds.items())
    print(f"\n| | tokens/s | range | ms a step | of {first} |\n|---|---|---|---|---|")
    for name, times in seconds.items():
        median = np.median(times)
        print(
            f"| {name} | {tokens / median:,.0f} | {tokens / max(times):,.0f}-"
            f"{tokens / min(times):,.0f} | {median / len(batches) * 1e3:.0f} | "
            f"{reference / median:.2f} |"
        )


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="As in `train.py --task masked_lm --data.train`.")
    parser.add_argument("--preset", default="bert_base")
    parser.add_argument("--layers", type=int, help="In place of the preset's.")
    parser.add_argument("--vocab_size", type=int, default=30_522, help="Of the model.")
    parser.add_argument("--length", type=int, default=128, help="Most tokens of an input.")
    parser.add_argument("--batch_tokens", type=int, default=2048)
    parser.add_argument("--batches", type=int, default=4, help="Of each round.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="Of one operation.")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS], metavar="NAME")
    return parser.parse_args()


def main() -> None:
    """Measures and prints."""
    arguments = parse_arguments()
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    layers = {} if arguments.layers is None else {"num_layers": arguments.layers}
    config = BertConfig.preset(arguments.preset, vocab_size=arguments.vocab_size, **layers)
    batches = list(corpus_batches(arguments))
    positions = sum(inputs["ids"].size for inputs, _ in batches)
    tokens = sum(np.count_nonzero(inputs["ids"]) for inputs, _ in batches)
    packages = ("keras", "tensorflow", "torch", "transformers")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(
        f"{arguments.preset}, {arguments.precision}, {arguments.threads} threads; {len(batches)} "
        f"batches of at most {arguments.batch_tokens} tokens, "
        f"{len({inputs['ids'].shape for inputs, _ in batches})} shapes, padding "
        f"{1 - tokens / positions:.1%}; {versions}"
    )
    options = Options(arguments.precision, arguments.threads)
    trains = {name: MODELS[name](config, options) for name in arguments.models}
    report(measure(trains, batches, arguments.rounds), batches)


if __name__ == "__main__":
    main()
