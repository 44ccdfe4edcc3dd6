"""The kinds of pictures that `plot` draws: where each finds its arrays, and its options."""

import argparse
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_model_argument,
    add_run_argument,
    open_quietly,
    short_names,
)
from keras_transformer.commands.quiet import load_tensorflow, without_start_up_lines

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

_PARTS = ("cross", "encoder", "decoder")
# More are drawn where they are asked for.
_POSITIONS = 100


class Kind(NamedTuple):
    """A kind of picture.

    Args:
        add_arguments: Adds what the kind takes to a parser.
        draw: Makes the picture from the values of the options.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None]
    draw: Callable[[argparse.Namespace], "Figure"]


def _add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="The sentence.")
    parser.add_argument(
        "translation",
        metavar="TRANSLATION",
        nargs="?",
        help="A translation of it; by default the one that the model finds.",
    )


def _add_attention(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    _add_pair(parser)
    parser.add_argument(
        "--part",
        choices=_PARTS,
        default=_PARTS[0],
        help="Whose: from the decoder to the encoder (cross), or within one of them.",
    )
    parser.add_argument("--layer", type=int, metavar="N", help="Of one layer, from 0 on.")
    parser.add_argument("--head", type=int, metavar="N", help="Of one head of it, from 0 on.")
    add_checkpoint_option(parser)


def _draw_attention(arguments: argparse.Namespace) -> "Figure":
    load_tensorflow()
    from keras_transformer.plotting import plot_attention, plot_heads, plot_layers
    from keras_transformer.translation.attention import attention_weights
    from keras_transformer.translation.opening import open_runs

    part, layer, head = arguments.part, arguments.layer, arguments.head
    if head is not None and layer is None:
        raise ValueError(f"`head` needs a `layer` that it is of. Received: head={head}")
    with without_start_up_lines():
        translator = open_runs(arguments.run, arguments.checkpoint)
    found = attention_weights(translator, arguments.source, arguments.translation)
    if part not in found.weights:
        raise ValueError(
            f"`part` must be one that the model has: {', '.join(found.weights)}. Received: {part!r}"
        )
    weights, (queries, keys) = found.weights[part], found.tokens(part)
    name = {"cross": "Cross-attention", "encoder": "Encoder", "decoder": "Decoder"}[part]
    labels = {"cross": ("translation", "source")}.get(part, ("query", "key"))
    if layer is None:
        return plot_layers(weights, f"{name}, all layers and heads")
    _require_below("layer", layer, len(weights))
    if head is None:
        return plot_heads(weights[layer], queries, keys, f"{name}, layer {layer}", labels)
    _require_below("head", head, weights.shape[1])
    title = f"{name}, layer {layer}, head {head}"
    return plot_attention(weights[layer, head], queries, keys, title, labels)


def _require_below(name: str, value: int, bound: int) -> None:
    if not 0 <= value < bound:
        raise ValueError(
            f"`{name}` must be at least 0 and below the model's {bound}. Received: {name}={value}"
        )


def _require_some(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"`{name}` must be at least 1. Received: {name}={value}")


def _add_alignment(parser: argparse.ArgumentParser) -> None:
    add_model_argument(parser)
    _add_pair(parser)
    add_checkpoint_option(parser)


def _draw_alignment(arguments: argparse.Namespace) -> "Figure":
    load_tensorflow()
    from keras_transformer.plotting import plot_alignment
    from keras_transformer.translation.translator import Translator

    translator = open_quietly([arguments.model], arguments.checkpoint, {})
    if arguments.translation is None:
        [found] = translator.attend([arguments.source])
    elif isinstance(translator, Translator):
        [found] = translator.attend([arguments.source], translations=[arguments.translation])
    else:
        raise ValueError(
            "`translation` must be left out for an export, which shows what it translates itself. "
            f"Received: {arguments.translation!r}"
        )
    return plot_alignment(found.weights, found.source, found.target, found.alignment)


def _add_positions(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument(
        "--side",
        choices=("source", "target"),
        default="source",
        help="Whose: learned ones differ.",
    )
    parser.add_argument(
        "--positions",
        type=int,
        metavar="N",
        help=f"The first N positions; by default all that the model has, at most {_POSITIONS}.",
    )
    add_checkpoint_option(parser)


def _add_position_curves(parser: argparse.ArgumentParser) -> None:
    _add_positions(parser)
    parser.add_argument(
        "--dimensions", type=int, nargs="+", metavar="N", help="Which dimensions, from 0 on."
    )


def _table_of(arguments: argparse.Namespace) -> "npt.NDArray[Any]":
    load_tensorflow()
    import numpy as np

    from keras_transformer.translation.opening import open_runs

    with without_start_up_lines():
        [model] = open_runs(arguments.run, arguments.checkpoint).models
    encoding = getattr(getattr(model, f"{arguments.side}_sum", None), "encoding", None)
    if encoding is None:
        raise ValueError(
            "`run` must be one of a model that adds positional encodings. Received: "
            f"{arguments.run}"
        )
    table, positions = np.asarray(encoding.table), arguments.positions
    if positions is None:
        return table[:_POSITIONS]
    if not 1 <= positions <= len(table):
        raise ValueError(
            f"`positions` must be at least 1 and at most the model's {len(table)}. Received: "
            f"positions={positions}"
        )
    return table[:positions]


def _draw_positions(arguments: argparse.Namespace) -> "Figure":
    from keras_transformer.plotting import plot_positions

    return plot_positions(_table_of(arguments))


def _draw_position_curves(arguments: argparse.Namespace) -> "Figure":
    from keras_transformer.plotting import plot_position_curves

    table = _table_of(arguments)
    # Of the fast and of the slow ones; sinusoids come in pairs.
    width = table.shape[1]
    by_default = [width * eighth // 8 for eighth in (0, 1, 2, 3, 4)]
    return plot_position_curves(table, arguments.dimensions or by_default)


def _draw_position_products(arguments: argparse.Namespace) -> "Figure":
    from keras_transformer.plotting import plot_position_products

    return plot_position_products(_table_of(arguments))


def _add_masks(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("source", metavar="SOURCE", help="The sentence.")
    parser.add_argument("translation", metavar="TRANSLATION", help="A translation of it.")
    parser.add_argument(
        "--padding",
        type=int,
        default=2,
        metavar="N",
        help="Padding of either side, as beside longer ones in a batch.",
    )


def _draw_masks(arguments: argparse.Namespace) -> "Figure":
    load_tensorflow()
    from keras_transformer.plotting import plot_masks
    from keras_transformer.plotting.masks import MaskedTokens
    from keras_transformer.runs.run import open_run
    from keras_transformer.translation.masks import masks_of
    from keras_transformer.translation.opening import require_translation

    with without_start_up_lines():
        run = open_run(arguments.run)
        require_translation(run)
        found = masks_of(run, arguments.source, arguments.translation, arguments.padding)
    return plot_masks({name: MaskedTokens(*one) for name, one in found.items()})


def _add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="Run directories.")


def _add_history(parser: argparse.ArgumentParser) -> None:
    _add_runs(parser)
    parser.add_argument(
        "--metrics",
        nargs="+",
        metavar="NAME",
        help="Columns of history.csv without val_; by default all but the speed.",
    )


def _draw_history(arguments: argparse.Namespace) -> "Figure":
    load_tensorflow()
    from keras_transformer.plotting import plot_history
    from keras_transformer.runs.history import read_history
    from keras_transformer.runs.run import open_run

    histories = [read_history(open_run(path).path / "history.csv") for path in arguments.runs]
    names = short_names(arguments.runs)
    return plot_history(dict(zip(names, histories, strict=True)), arguments.metrics)


def _add_schedule(parser: argparse.ArgumentParser) -> None:
    _add_runs(parser)
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="Steps to draw; by default those of the run that takes most.",
    )


def _draw_schedule(arguments: argparse.Namespace) -> "Figure":
    load_tensorflow()
    import numpy as np
    from keras import ops

    from keras_transformer.plotting import plot_schedules
    from keras_transformer.runs.run import Run, open_run
    from keras_transformer.training.optimizer import make_schedule

    def steps_of(run: Run) -> int:
        latest, training = run.checkpoints.latest(), run.config.training
        return training.max_steps or (latest.step if latest else 4 * training.warmup_steps)

    _require_some("steps", arguments.steps)
    with without_start_up_lines():
        runs = [open_run(path) for path in arguments.runs]
        steps = np.arange(arguments.steps or max(map(steps_of, runs)))
        schedules = [make_schedule(run.config.model.d_model, run.config.training) for run in runs]
        rates = [(steps + 1, ops.convert_to_numpy(schedule(steps))) for schedule in schedules]
    names = short_names(arguments.runs)
    timed = [
        name
        for name, run in zip(names, runs, strict=True)
        if run.config.training.minutes is not None and run.config.training.cooldown
    ]
    # Which step the fall begins at is known when the clock has come so far.
    title = f"{', '.join(timed)}: the fall by the clock is not drawn" if timed else ""
    return plot_schedules(dict(zip(names, rates, strict=True)), title)


def _add_batches(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument(
        "--batches",
        type=int,
        default=1000,
        metavar="N",
        help="Batches to look at, the first ones of an epoch.",
    )


def _draw_batches(arguments: argparse.Namespace) -> "Figure":
    load_tensorflow()
    from keras_transformer.plotting import plot_batches
    from keras_transformer.runs.run import open_run
    from keras_transformer.tasks.translation.inputs import training_batches
    from keras_transformer.training.strategy import ONE_DEVICE
    from keras_transformer.translation.opening import require_translation

    _require_some("batches", arguments.batches)
    with without_start_up_lines():
        run = open_run(arguments.run)
        require_translation(run)
        batches = training_batches(run, ONE_DEVICE)
        looked_at = itertools.islice(batches.epoch(0), arguments.batches)
        pairs = [(inputs["source"], labels) for inputs, labels, *_ in looked_at]
    return plot_batches(pairs, batches.corpus.name)


KINDS = {
    "attention": Kind(_add_attention, _draw_attention),
    "alignment": Kind(_add_alignment, _draw_alignment),
    "positions": Kind(_add_positions, _draw_positions),
    "position-curves": Kind(_add_position_curves, _draw_position_curves),
    "position-products": Kind(_add_positions, _draw_position_products),
    "masks": Kind(_add_masks, _draw_masks),
    "history": Kind(_add_history, _draw_history),
    "schedule": Kind(_add_schedule, _draw_schedule),
    "batches": Kind(_add_batches, _draw_batches),
}
