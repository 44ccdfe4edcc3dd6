"""The paper's optimizer (Section 5.3), and `compile_model`, which makes a model ready for `fit`."""

import keras

from keras_transformer.config import TrainingConfig
from keras_transformer.training.adam import FusedAdam
from keras_transformer.training.loss import LabelSmoothedCrossEntropy, Losses
from keras_transformer.training.metrics import Metrics, Perplexity, TokenAccuracy
from keras_transformer.training.schedule import TransformerSchedule, TrapezoidSchedule
from keras_transformer.training.strategy import require_compilable


def make_optimizer(d_model: int, config: TrainingConfig) -> keras.optimizers.Optimizer:
    """Makes Adam with a warm-up schedule.

    Args:
        d_model: Width of the model, which scales the learning rate.
        config: Of it: what `make_schedule` takes, and `beta_1`, `beta_2`, `epsilon`,
            `weight_decay`, `clip_norm`, `ema_momentum`.

    Example:
        >>> optimizer = make_optimizer(512, TrainingConfig())

    Reference:
        "Attention Is All You Need", Section 5.3; of the decay, "Decoupled Weight Decay
        Regularization", arXiv 1711.05101.
    """
    optimizer = FusedAdam(
        make_schedule(d_model, config),
        beta_1=config.beta_1,
        beta_2=config.beta_2,
        epsilon=config.epsilon,
        weight_decay=config.weight_decay or None,
        global_clipnorm=config.clip_norm,
        use_ema=config.ema_momentum is not None,
        ema_momentum=config.ema_momentum or 0.99,
    )
    optimizer.exclude_from_weight_decay(var_names=_SPARED)
    return optimizer


# Biases, and what normalizations learn, by the names that Keras gives them.
_SPARED = ["bias", "gamma", "beta"]


def make_schedule(
    d_model: int, config: TrainingConfig
) -> keras.optimizers.schedules.LearningRateSchedule:
    """Makes the schedule of the learning rate.

    Args:
        d_model: Width of the model.
        config: Of it: `schedule`, `learning_rate_factor`, `peak_learning_rate`, `warmup_steps`,
            `cooldown`, `max_steps`.

    Example:
        >>> schedule = make_schedule(512, TrainingConfig(warmup_steps=4000))
        >>> round(float(schedule(3999)), 7)
        0.0006988
    """
    warmup, factor = config.warmup_steps, config.learning_rate_factor
    # Where the warm-up of Equation 3 ends.
    peak = factor * (d_model * warmup) ** -0.5
    if config.peak_learning_rate is not None:
        peak, factor = config.peak_learning_rate, factor * config.peak_learning_rate / peak
    if config.schedule == "inverse_sqrt":
        return TransformerSchedule(d_model, warmup, factor)
    return TrapezoidSchedule(peak, warmup, config.cooldown, config.max_steps)


def compile_model(
    model: keras.Model,
    config: TrainingConfig,
    loss: Losses | None = None,
    metrics: Metrics | None = None,
) -> keras.Model:
    """Compiles a model with the paper's optimizer, and returns it.

    Args:
        model: A model whose own configuration tells `d_model`.
        config: The training regime.
        loss: The loss, or a mapping of the losses of several outputs, which are added up; None for
            the paper's, with `config.label_smoothing`.
        metrics: The metrics, or a mapping of those of several outputs; None for `TokenAccuracy` and
            `Perplexity`.

    Raises:
        ValueError: If `micro_batches` is not yet found, or more than 1 on another backend than
            TensorFlow; or if `jit_compile` is asked for where XLA cannot compile the step.

    Example:
        >>> model = Transformer(TransformerConfig.preset("tiny", vocab_size=8000))
        >>> history = compile_model(model, TrainingConfig()).fit(dataset)
    """
    _check_micro_batches(config.micro_batches)
    if config.jit_compile and keras.backend.backend() == "tensorflow":
        require_compilable()
    model.micro_batches = config.micro_batches
    model.compile(
        optimizer=make_optimizer(model.config.d_model, config),
        loss=LabelSmoothedCrossEntropy(config.label_smoothing) if loss is None else loss,
        metrics=[TokenAccuracy(), Perplexity()] if metrics is None else metrics,
        # On JAX "not compiled" would mean op by op.
        jit_compile=config.jit_compile or keras.backend.backend() == "jax",
    )
    # Built here, because an optimizer that makes its variables inside of the first step has that
    # step traced twice. Through the model's own attribute: with mixed_float16 `compile` wraps it.
    model.optimizer.build(model.trainable_variables)
    return model


def _check_micro_batches(micro_batches: int) -> None:
    if micro_batches == 0:
        raise ValueError(
            "`micro_batches` of 0 must be replaced by a number first, as train.py does; see "
            "`fewest_micro_batches`. Received: micro_batches=0"
        )
    if micro_batches > 1 and keras.backend.backend() != "tensorflow":
        raise ValueError(
            "`micro_batches` must be 1 on another backend than TensorFlow. Received: "
            f"micro_batches={micro_batches} on {keras.backend.backend()}"
        )
