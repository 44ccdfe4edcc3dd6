"""Table 1 of the paper, measured: what a layer of each kind costs, and how far it carries a signal.

    python benchmarks/table1.py --lengths 16 8192 --widths 64 1024 --plot table1.png

Prints the paper's table with what was measured beside each claim: the exponents of length and width
in the time of a layer, forward and backward; the products that wait for each other; the layers
after which the last output depends on every input. Times are CPU time of one thread, so that other
work on the machine counts little. What would take longer than `--limit` seconds is left out.
"""

import argparse
import ctypes
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.layers import RestrictedSelfAttention, SelfAttention

# Width of a head, as in the paper's base model.
HEAD = 64
# The neighbourhood for path lengths, which are told of short sequences.
SHORT = 9
RECURRENT = {"return_sequences": True}
# Operations that are counted in a chain; convolutions of one dimension run as those of two.
PRODUCTS = {"MatMul", "BatchMatMulV2", "Conv2D", "DepthwiseConv2dNative"}
# Seconds by length and width.
Times = dict[tuple[int, int], float]


class Kind(NamedTuple):
    """A kind of layer, with what the table says of it.

    Args:
        complexity: Of a layer of width d on n positions.
        sequential: Operations that wait for each other.
        path: The longest path between two positions.
        make: Makes a layer of a width; it is told how many are below it.
        timed: Whether its time is of interest.
    """

    complexity: str
    sequential: str
    path: str
    make: Callable[[int, int], keras.layers.Layer]
    timed: bool = True


def kinds(window: int, kernel: int) -> dict[str, Kind]:
    """Returns the rows of the table, in its order."""

    def heads(width: int) -> dict[str, int]:
        size = min(HEAD, width)
        return {"num_heads": width // size, "key_dim": size, "value_dim": size}

    def convolution(width: int, below: int) -> keras.layers.Layer:
        return keras.layers.Conv1D(width, kernel, padding="same")

    def dilated(width: int, below: int) -> keras.layers.Layer:
        return keras.layers.Conv1D(width, kernel, padding="same", dilation_rate=kernel**below)

    return {
        "self-attention": Kind("n^2 d", "1", "1", lambda d, _: SelfAttention(**heads(d))),
        "recurrent": Kind("n d^2", "n", "n", lambda d, _: keras.layers.GRU(d, **RECURRENT)),
        "convolutional": Kind("k n d^2", "1", "n/k", convolution),
        "dilated": Kind("k n d^2", "1", "log_k n", dilated, timed=False),
        "separable": Kind(
            "k n d + n d^2",
            "1",
            "n/k",
            lambda d, _: keras.layers.SeparableConv1D(d, kernel, padding="same"),
        ),
        "restricted": Kind(
            "r n d", "1", "n/r", lambda d, _: RestrictedSelfAttention(**heads(d), window=window)
        ),
    }


def output_of(layer: keras.layers.Layer, x: tf.Tensor) -> tf.Tensor:
    """Calls a layer, and leaves attention weights aside."""
    output = layer(x)
    return output[0] if isinstance(output, tuple) else output


def step_of(layer: keras.layers.Layer, width: int) -> Callable[[tf.Tensor], list[tf.Tensor]]:
    """Compiles a layer, forward and backward, for any length."""
    layer.build((1, None, width))

    @tf.function(input_signature=[tf.TensorSpec((1, None, width))])
    def step(x: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_mean(tf.square(output_of(layer, x)))
        return tape.gradient(loss, [x, *(weight.value for weight in layer.trainable_weights)])

    return step


def cpu_time(run: Callable[[], object], at_least: float = 0.3) -> float:
    """Returns the seconds of CPU of the fastest of some runs, the first one aside."""
    run()
    seconds: list[float] = []
    while len(seconds) < 2 or sum(seconds) < at_least:
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def peak_memory(run: Callable[[], object]) -> float:
    """Returns the MiB that a run takes at its peak, beside what there is before it, on Linux."""

    def of(name: str) -> int:
        [line] = [x for x in Path("/proc/self/status").read_text().splitlines() if name in x]
        return int(line.split()[1])

    # What is free goes back to the system, and the peak so far is forgotten.
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = of("VmRSS")
    run()
    return (of("VmHWM") - before) / 1024


def memory_of(name: str, window: int, kernel: int, length: int, width: int) -> float:
    """Returns the peak memory of a kind of layer in MiB, in a process without a history."""
    step = step_of(kinds(window, kernel)[name].make(width, 0), width)
    step(tf.random.normal((1, 16, width)))
    x = tf.random.normal((1, length, width))
    return peak_memory(lambda: step(x))


def measured_times(kind: Kind, lengths: list[int], widths: list[int], limit: float) -> Times:
    """Times a kind of layer."""
    times: Times = {}
    for width in widths:
        step = step_of(kind.make(width, 0), width)
        for length in lengths:
            x = tf.random.normal((1, length, width))
            if length == lengths[0]:
                step(x)
            times[length, width] = cpu_time(lambda x=x, step=step: step(x))
            # Twice the length takes four times as long at worst.
            if 3 * 4 * times[length, width] > limit:
                break
    return times


def exponent(sizes: list[int], seconds: list[float], last: int = 3) -> float:
    """Fits a power of the size through the largest sizes, where fixed costs count least."""
    slope, _ = np.polyfit(np.log(sizes[-last:]), np.log(seconds[-last:]), 1)
    return float(slope)


def exponents(times: Times, widths: list[int]) -> tuple[float, float, int]:
    """Returns those of length, at the narrowest width, and width, and the length of the latter."""
    narrow = {length: t for (length, width), t in times.items() if width == widths[0]}
    longest = max(n for n in narrow if all((n, width) in times for width in widths))
    of_width = exponent(widths, [times[longest, width] for width in widths])
    return exponent(list(narrow), list(narrow.values())), of_width, longest


def chain(make: Callable[[int, int], keras.layers.Layer], length: int) -> int:
    """Counts the products on the longest chain of a layer, each waiting for the one before."""
    layer = make(8, 0)
    if hasattr(layer, "unroll"):
        # A loop's steps become operations of their own.
        layer.unroll = True
    x = tf.zeros((1, length, 8))
    output_of(layer, x)
    graph = tf.function(lambda x: output_of(layer, x), autograph=False).get_concrete_function(x)
    depth: dict[str, int] = {}
    for operation in graph.graph.get_operations():
        below = max((depth[x.op.name] for x in operation.inputs), default=0)
        depth[operation.name] = below + (operation.type in PRODUCTS)
    return depth[graph.outputs[0].op.name]


def dependencies(layer: keras.layers.Layer, length: int) -> np.ndarray:
    """Tells by the gradient which inputs each output depends on: bool `[outputs, inputs]`."""
    # A sequence for each output.
    x = tf.random.normal((length, length, 8))
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = tf.linalg.diag_part(tf.transpose(output_of(layer, x), (2, 0, 1)))
        loss = tf.reduce_sum(outputs * tf.random.normal(outputs.shape))
    return np.any(tape.gradient(loss, x), axis=-1)


def layers_to_reach(kind: Kind, length: int) -> int:
    """Counts the layers after which the last output depends on every input."""
    layers, reached = 0, np.eye(length, dtype=bool)
    while not reached[-1].all():
        further = dependencies(kind.make(8, layers), length) @ reached
        if (further == reached).all():
            raise ValueError(
                "`reach` must fit the dilations, of which the next is longer than the sequence; "
                f"choose another. Received: reach={length}"
            )
        layers, reached = layers + 1, further
    return layers


def rows(
    table: dict[str, Kind],
    short: dict[str, Kind],
    all_times: dict[str, Times],
    widths: list[int],
    reach: int,
) -> Iterator[str]:
    """Yields the paper's table with measured columns; `short` are the kinds for path lengths."""
    yield (
        "| layer | per layer | measured, n^a d^b | sequential | products in a chain, n = 16, 64 "
        f"| path | layers to reach all of n = {reach} |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, kind in table.items():
        measured = "-"
        if kind.timed:
            a, b, length = exponents(all_times[name], widths)
            measured = f"n^{a:.2f} d^{b:.2f} (n = {length})"
        chains = ", ".join(str(chain(kind.make, n)) for n in (16, 64))
        reached = layers_to_reach(short[name], reach)
        yield (
            f"| {name} | {kind.complexity} | {measured} | {kind.sequential} | {chains} "
            f"| {kind.path} | {reached} |"
        )


def times_of(all_times: dict[str, Times], lengths: list[int], width: int) -> Iterator[str]:
    """Yields a table of milliseconds by length, at a width."""
    yield f"| n, d = {width}, ms | " + " | ".join(all_times) + " |"
    yield "|---|" + "---|" * len(all_times)
    for n in lengths:
        cells = [
            f"{times[n, width] * 1e3:,.1f}" if (n, width) in times else "-"
            for times in all_times.values()
        ]
        yield f"| {n:,} | " + " | ".join(cells) + " |"


def draw(all_times: dict[str, Times], lengths: list[int], widths: list[int], path: str) -> None:
    """Draws time by length and by width, both axes logarithmic."""
    from keras_transformer.plotting.figures import finish, line_styles, new_figure, save_figure

    figure = new_figure(10, 4)
    by_length, by_width = figure.subplots(1, 2)
    for (name, times), style in zip(all_times.items(), line_styles(len(all_times)), strict=True):
        narrow = [(n, times[n, widths[0]]) for n in lengths if (n, widths[0]) in times]
        length = exponents(times, widths)[2]
        wide = [(d, times[length, d]) for d in widths]
        for axes, points, label in (
            (by_length, narrow, name),
            (by_width, wide, f"{name}, n = {length:,}"),
        ):
            axes.loglog(*zip(*points, strict=True), **style, label=label, base=2)
    finish(by_length, "n", "seconds, forward and backward", f"d = {widths[0]}")
    finish(by_width, "d", "seconds, forward and backward")
    for axes in (by_length, by_width):
        axes.legend(fontsize=8, frameon=False)
    save_figure(figure, path)


def doubled(bounds: list[int]) -> list[int]:
    """Returns the sizes from the first bound to the last, each twice the one before."""
    sizes = [bounds[0]]
    while sizes[-1] * 2 <= bounds[-1]:
        sizes.append(sizes[-1] * 2)
    return sizes


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs=2, default=[16, 8192])
    parser.add_argument("--widths", type=int, nargs=2, default=[64, 1024])
    parser.add_argument("--window", type=int, default=64, help="r, of restricted attention")
    parser.add_argument("--kernel", type=int, default=3, help="k, of convolutions")
    parser.add_argument("--reach", type=int, default=32, help="n, for path lengths")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for a size")
    parser.add_argument("--plot", help="a file for a picture, .png or .svg")
    arguments = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    lengths, widths = doubled(arguments.lengths), doubled(arguments.widths)
    table = kinds(arguments.window, arguments.kernel)
    all_times = {}
    for name, kind in table.items():
        if kind.timed:
            all_times[name] = measured_times(kind, lengths, widths, arguments.limit)
            print(f"{name}: {len(all_times[name])} sizes", flush=True)
    for width in (widths[0], widths[-1]):
        print("", *times_of(all_times, lengths, width), sep="\n")
    print(f"\npeak memory, d = {widths[0]}, MiB:")
    # What was freed once is not seen to be taken, so each is measured in a process of its own.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name in ("self-attention", "restricted"):
            sizes = [n for n in lengths[::-2][:3] if (n, widths[0]) in all_times[name]]
            options = (name, arguments.window, arguments.kernel)
            found = pool.starmap(memory_of, [(*options, n, widths[0]) for n in sizes], chunksize=1)
            print(name, {n: round(mib, 1) for n, mib in zip(sizes, found, strict=True)})
    print(f"\nk = {arguments.kernel}; r = {arguments.window} for times, {SHORT} for path lengths")
    short = kinds(SHORT, arguments.kernel)
    print(*rows(table, short, all_times, widths, arguments.reach), sep="\n")
    if arguments.plot:
        draw(all_times, lengths, widths, arguments.plot)


if __name__ == "__main__":
    main()
