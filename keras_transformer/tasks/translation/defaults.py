"""What is chosen for a translator of which nothing but the corpus is known.

`choose` is a pure function of the corpus's size and the accelerator, and the scales are its table.
`docs/defaults.md` tells what was measured of each choice, or that nothing was.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from keras_transformer.config import PRESETS
from keras_transformer.training.accelerator import Accelerator


class Scale(NamedTuple):
    """What suits corpora of fewer than so many pairs.

    Args:
        pairs: So many.
        preset: The model.
        vocab_size: Pieces of the joint vocabulary.
        dropout: Of the model.
        batch_tokens: Most source tokens, and most target tokens, of a batch.
        epochs: Passes over the corpus, where time does not end them.
    """

    pairs: float
    preset: str
    vocab_size: int
    dropout: float
    batch_tokens: int
    epochs: int


_SMALL = (
    Scale(1_000, "tiny", 500, 0.3, 512, 100),
    Scale(5_000, "tiny", 2_000, 0.3, 512, 100),
    Scale(100_000, "tiny", 6_000, 0.2, 1_024, 30),
)
ON_CPU = (
    *_SMALL,
    Scale(1_000_000, "tiny", 10_000, 0.1, 2_048, 10),
    Scale(math.inf, "tiny", 16_000, 0.1, 4_096, 3),
)
ON_ACCELERATOR = (
    *_SMALL,
    Scale(1_000_000, "base_ff1024", 10_000, 0.3, 4_096, 40),
    Scale(math.inf, "base", 37_000, 0.1, 25_000, 10),
)

# Steps of warm-up, and the factor on Equation 3, which tell how high the learning rate is.
_PAPER = (4_000, 1.0)
_WARMUP = {"tiny": (1_000, 0.7)}
_FINE_TUNING = (1_000, 0.43)


class Choice(NamedTuple):
    """Something that is chosen.

    Args:
        name: What it is called.
        options: Values by the options' dotted names.
        reason: Why.
    """

    name: str
    options: Mapping[str, Any]
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def choose(
    pairs: int,
    accelerator: Accelerator | None,
    timed: bool = False,
    fine_tuned: bool = False,
    limited: bool = False,
) -> list[Choice]:
    """Chooses the options of a training.

    Args:
        pairs: Pairs of the corpus.
        accelerator: What there is beside CPUs.
        timed: Whether the training ends by the clock.
        fine_tuned: Whether it begins with another run, and so with that one's model.
        limited: Whether it ends after a number of steps that was asked for.

    Example:
        >>> print(choose(29_000, accelerator=None)[0])
        preset tiny: a larger one learns so few pairs by heart
    """
    scale = scale_of(pairs, accelerator)
    model = [] if fine_tuned else _model(scale, accelerator)
    few = f"fewer than {scale.pairs:,}" if math.isfinite(scale.pairs) else "a million or more"
    size = f"for {few} pairs"
    warmup, factor = _FINE_TUNING if fine_tuned else _WARMUP.get(scale.preset, _PAPER)
    precision = "float32" if accelerator is None else accelerator.precision
    # A run that begins with another is searched as that one is.
    is_small = scale in _SMALL and not fine_tuned
    searched = _choice("decoding.length_penalty", 1.0, "short ones are favoured by the paper's 0.6")
    return [
        *model,
        _choice("model.dropout", scale.dropout, f"{size}; the fewer, the more often each is seen"),
        _choice("data.batch_tokens", scale.batch_tokens, f"{size}; small ones make many steps"),
        _choice("training.epochs", None, f"as many as fit in the {'time' if timed else 'steps'}")
        if timed or limited
        else _choice("training.epochs", scale.epochs, size),
        _choice("training.warmup_steps", warmup, "and at most a tenth of the training"),
        _choice("training.learning_rate_factor", factor, "on Equation 3, at the warm-up's end"),
        _choice("training.precision", precision, f"on {_name(accelerator)}"),
        *([searched] if is_small else []),
    ]


def scale_of(pairs: int, accelerator: Accelerator | None) -> Scale:
    """Returns what suits a corpus of so many pairs.

    Example:
        >>> scale_of(29_000, accelerator=None).dropout
        0.2
    """
    scales = ON_CPU if accelerator is None else ON_ACCELERATOR
    return next(scale for scale in scales if pairs < scale.pairs)


def _model(scale: Scale, accelerator: Accelerator | None) -> list[Choice]:
    if scale in _SMALL:
        reason = "a larger one learns so few pairs by heart"
    elif accelerator is None:
        reason = "a base model takes ten times as long on a CPU"
    else:
        reason = f"for so many pairs, on {accelerator.name}"
    preset = {f"model.{name}": value for name, value in PRESETS[scale.preset].items()}
    return [
        Choice(f"preset {scale.preset}", preset, reason),
        _choice("model.vocab_size", scale.vocab_size, "pieces that are seen often enough"),
        _choice("model.norm_first", True, "needs no long warm-up"),
    ]


def _choice(option: str, value: Any, reason: str) -> Choice:
    return Choice(f"{option} {value}", {option: value}, reason)


def _name(accelerator: Accelerator | None) -> str:
    return "a CPU" if accelerator is None else accelerator.name
