"""The training regime, whatever is trained, and what rows of Table 3 change in it."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from keras_transformer.config.checks import require, require_fraction, require_positive

Precision = Literal["float32", "mixed_bfloat16", "mixed_float16"]
Strategy = Literal["auto", "none", "mirrored", "multi_worker", "tpu"]
Schedule = Literal["inverse_sqrt", "trapezoid"]


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """The training regime of Section 5, and what a run keeps.

    Args:
        epochs: Passes over the training corpus; None for as many as `max_steps` or `minutes` take.
        max_steps: Stop after so many steps, whatever the epochs; None for no such limit.
        minutes: Minutes in which the training is to end, with all that is done before the first
            step and after the last; None for no such limit.
        schedule: What follows the warm-up: "inverse_sqrt", the paper's decay in Equation 3, or
            "trapezoid", which stays at its height and then falls linearly to zero.
        learning_rate_factor: Factor on the paper's schedule, Equation 3; a trapezoid is as high as
            that is at the end of its warm-up.
        peak_learning_rate: The highest rate of either schedule, in place of what Equation 3 makes
            of the model's width; None for that.
        warmup_steps: Steps of linear warm-up, in Equation 3; at most a tenth of a trapezoid that
            ends.
        cooldown: Share of the training, at its end, in which a trapezoid falls; 0 for one that
            stays at its height.
        beta_1: Adam's beta_1.
        beta_2: Adam's beta_2.
        epsilon: Adam's epsilon.
        weight_decay: Share of each weight, times the learning rate, that a step takes off, apart
            from Adam's own (AdamW, arXiv 1711.05101). Biases and normalizations are spared.
        label_smoothing: epsilon_ls, of the cross-entropy.
        clip_norm: Most global norm of a gradient; None for no clipping.
        ema_momentum: Momentum of an exponential moving average of the weights, which is then what
            is validated, saved and exported; None for the weights themselves.
        seed: Fixes data order, initial weights and dropout.
        precision: Keras dtype policy: "float32", "mixed_bfloat16" or "mixed_float16".
        jit_compile: Compile the training step with XLA; one compilation per batch shape.
        micro_batches: Parts that a batch is cut into, one after the other, when it does not fit in
            memory as a whole; the gradient is that of the whole. 0 to find the fewest that fit.
        freeze: Names of parts that are not trained, as in the paths of their variables: "encoder",
            "target_embedding", "decoder/layer_0"; a `*` stands for any text.
        early_stopping: What has to improve: "score", what the task is judged by (of translation
            BLEU), or "loss", both of the validation corpus.
        patience: Epochs without improvement after which training stops; None to go on.
        checkpoint_steps: Steps between checkpoints within an epoch, each scored like that of an
            epoch; None for one after each epoch.
        checkpoint_minutes: Minutes after which a checkpoint is written to resume from, if no other
            was; it is not scored, and is removed when there is a newer one. None for none.
        keep_checkpoints: Newest scored checkpoints that are kept.
        keep_best: Best checkpoints by the validation's score that are kept besides.
        average_checkpoints: Checkpoints of which the mean is saved when training has ended; 0 for
            none. The paper takes 5 of base and 20 of big.
        average_best: Average the best checkpoints in place of the newest.
    """

    epochs: int | None = 10
    max_steps: int | None = None
    minutes: float | None = None
    schedule: Schedule = "inverse_sqrt"
    learning_rate_factor: float = 1.0
    peak_learning_rate: float | None = None
    warmup_steps: int = 4000
    cooldown: float = 0.3
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    label_smoothing: float = 0.1
    clip_norm: float | None = None
    ema_momentum: float | None = None
    seed: int = 0
    precision: Precision = "float32"
    jit_compile: bool = False
    micro_batches: int = 1
    freeze: tuple[str, ...] = ()
    early_stopping: Literal["score", "loss"] = "score"
    patience: int | None = None
    checkpoint_steps: int | None = None
    checkpoint_minutes: float | None = 10.0
    keep_checkpoints: int = 3
    keep_best: int = 1
    average_checkpoints: int = 0
    average_best: bool = False

    def __post_init__(self) -> None:
        # JSON and YAML give lists.
        object.__setattr__(self, "freeze", tuple(self.freeze))
        require_positive(
            self, "learning_rate_factor", "warmup_steps", "epsilon", "keep_checkpoints"
        )
        require_fraction(self, "beta_1", "beta_2", "weight_decay", "label_smoothing")
        optional = ("peak_learning_rate", "clip_norm", "epochs", "max_steps", "minutes", "patience")
        for name in (*optional, "checkpoint_steps", "checkpoint_minutes"):
            value = getattr(self, name)
            require(value is None or value > 0, name, "positive or None", value)
        self._require_an_end()
        momentum = self.ema_momentum
        allowed = momentum is None or 0.0 < momentum < 1.0
        require(allowed, "ema_momentum", "in (0, 1), or None", momentum)
        for name, known in (
            ("precision", get_args(Precision)),
            ("schedule", get_args(Schedule)),
            ("early_stopping", ("score", "loss")),
        ):
            require(getattr(self, name) in known, name, f"one of {known}", getattr(self, name))
        for name in ("seed", "micro_batches", "keep_best", "average_checkpoints"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
        kept = "keep_best" if self.average_best else "keep_checkpoints"
        expected = f"at most {kept}={getattr(self, kept)}, the checkpoints there will be"
        fits = self.average_checkpoints <= getattr(self, kept)
        require(fits, "average_checkpoints", expected, self.average_checkpoints)

    def _require_an_end(self) -> None:
        require(0.0 <= self.cooldown <= 1.0, "cooldown", "in [0, 1]", self.cooldown)
        known = self.max_steps is not None or self.minutes is not None
        expected = "a number, unless `max_steps` or `minutes` is"
        require(known or self.epochs is not None, "epochs", expected, self.epochs)
        falls = self.schedule == "trapezoid" and self.cooldown > 0
        expected = "0 with schedule='trapezoid', unless `max_steps` or `minutes` says when it ends"
        require(known or not falls, "cooldown", expected, self.cooldown)


# With 256 units the rate is 0.0014 at its peak, and at 6,000 steps the 0.0004 that recurrent models
# are often trained with throughout.
_RECURRENT = {"learning_rate_factor": 0.5, "warmup_steps": 500, "clip_norm": 1.0}

# What presets change in the training; those of the families have what they change in the model.
TRAINING_PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Row D: regularisation.
    "base_ls0.0": {"label_smoothing": 0.0},
    "base_ls0.2": {"label_smoothing": 0.2},
    "rnn_no_attention": _RECURRENT,
    "rnn_bahdanau": _RECURRENT,
    "rnn_luong": _RECURRENT,
}
