"""Configuration: frozen dataclasses that are the one source of every option.

The same classes give the command line of `train.py`, the YAML recipes under `configs/` and the
`run.json` that a run directory keeps. Validation happens on construction, so a value that exists is
a value that is allowed.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

Positions = Literal["sinusoidal", "learned", "none"]
Strategy = Literal["auto", "none", "mirrored", "multi_worker", "tpu"]


def _require(condition: bool, argument: str, expected: str, received: object) -> None:
    if not condition:
        raise ValueError(f"`{argument}` must be {expected}. Received: {argument}={received!r}")


def _require_positive(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(value > 0, name, "positive", value)


def _require_fraction(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(0.0 <= value < 1.0, name, "in [0, 1)", value)


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """The shape of a Transformer, in the terms of the paper's Table 3.

    Args:
        vocab_size: Size of the target vocabulary, and of the source's when it is joint.
        source_vocab_size: Size of the source vocabulary; None for a joint one.
        num_layers: N, layers in the encoder and in the decoder.
        d_model: Width of every sub-layer's output. Even when positions are sinusoidal.
        d_ff: Inner width of the feed-forward networks.
        num_heads: h, attention heads.
        key_dim: d_k, width of a query or key in one head; None for `d_model / num_heads`.
        value_dim: d_v, width of a value in one head; None for `d_model / num_heads`.
        dropout: P_drop, on sub-layer outputs and embedding sums (Section 5.4).
        attention_dropout: Dropout on attention weights; the paper has none.
        label_smoothing: epsilon_ls (Section 5.4).
        norm_first: Pre-norm residuals instead of the paper's post-norm.
        positions: "sinusoidal" (Section 3.5), "learned" (Table 3 row E) or "none".
        tie_embeddings: One matrix for target embedding and logits and, with a joint vocabulary, for
            the source embedding too (Section 3.4).
        activation: Activation of the feed-forward networks, by its Keras name.
        max_length: Longest source or target in tokens.

    Raises:
        ValueError: If a value is out of its range.

    Example:
        >>> TransformerConfig.preset("base_h4", vocab_size=8000).num_heads
        4

    Reference:
        "Attention Is All You Need", Table 3.
    """

    vocab_size: int = 37000
    source_vocab_size: int | None = None
    num_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    key_dim: int | None = None
    value_dim: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    label_smoothing: float = 0.1
    norm_first: bool = False
    positions: Positions = "sinusoidal"
    tie_embeddings: bool = True
    activation: str = "relu"
    max_length: int = 256

    def __post_init__(self) -> None:
        _require_positive(self, "vocab_size", "num_layers", "d_model", "d_ff", "num_heads")
        expected = "at least 2, a token and eos"
        _require(self.max_length >= 2, "max_length", expected, self.max_length)
        for name in ("source_vocab_size", "key_dim", "value_dim"):
            value = getattr(self, name)
            _require(value is None or value > 0, name, "positive or None", value)
        if None in (self.key_dim, self.value_dim) and self.d_model % self.num_heads:
            raise ValueError(
                "`d_model` must be divisible by `num_heads` unless both `key_dim` and `value_dim` "
                f"are given. Received: d_model={self.d_model}, num_heads={self.num_heads}"
            )
        _require_fraction(self, "dropout", "attention_dropout", "label_smoothing")
        known = ("sinusoidal", "learned", "none")
        _require(self.positions in known, "positions", f"one of {known}", self.positions)
        if self.positions == "sinusoidal":
            expected = "even, because sinusoidal positions pair a sine with a cosine"
            _require(self.d_model % 2 == 0, "d_model", expected, self.d_model)

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "TransformerConfig":
        """Returns a row of the paper's Table 3, or `tiny`, with fields overridden.

        Args:
            name: A key of `PRESETS`.
            **overrides: Fields of `TransformerConfig`.

        Raises:
            ValueError: If the preset is unknown; the message lists the known ones.

        Example:
            >>> TransformerConfig.preset("tiny", vocab_size=4000).d_model
            128
        """
        if name not in PRESETS:
            raise ValueError(f"`preset` must be one of {', '.join(PRESETS)}. Received: {name!r}")
        return cls(**{**PRESETS[name], **overrides})

    @property
    def head_key_dim(self) -> int:
        """d_k, with its default resolved."""
        return self.key_dim or self.d_model // self.num_heads

    @property
    def head_value_dim(self) -> int:
        """d_v, with its default resolved."""
        return self.value_dim or self.d_model // self.num_heads

    @property
    def joint_vocabulary(self) -> bool:
        """Whether source and target share one vocabulary."""
        return self.source_vocab_size is None


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "tiny": dict(num_layers=4, d_model=128, d_ff=256, num_heads=4),
    "base": {},
    "big": dict(d_model=1024, d_ff=4096, num_heads=16, dropout=0.3),
    # Table 3, row A: heads at constant computation.
    "base_h1": dict(num_heads=1),
    "base_h4": dict(num_heads=4),
    "base_h16": dict(num_heads=16),
    "base_h32": dict(num_heads=32),
    # Row B: key width alone.
    "base_dk16": dict(key_dim=16),
    "base_dk32": dict(key_dim=32),
    # Row C: model size.
    "base_n2": dict(num_layers=2),
    "base_n4": dict(num_layers=4),
    "base_n8": dict(num_layers=8),
    "base_d256": dict(d_model=256),
    "base_d1024": dict(d_model=1024),
    "base_ff1024": dict(d_ff=1024),
    "base_ff4096": dict(d_ff=4096),
    # Row D: regularisation.
    "base_drop0.0": dict(dropout=0.0),
    "base_drop0.2": dict(dropout=0.2),
    "base_ls0.0": dict(label_smoothing=0.0),
    "base_ls0.2": dict(label_smoothing=0.2),
    # Row E: positions.
    "base_learned_positions": dict(positions="learned"),
}


@dataclasses.dataclass(frozen=True)
class TokenizerConfig:
    """How the subword vocabulary is learned; its size is the model's `vocab_size`.

    Args:
        algorithm: "bpe", as the paper's, or "unigram".
        character_coverage: Share of the text's characters that get a symbol of their own.
        byte_fallback: Spell an unknown character in UTF-8 bytes instead of the unknown symbol.
        max_sentences: Sentences sampled for training, which bounds its memory.
    """

    algorithm: Literal["bpe", "unigram"] = "bpe"
    character_coverage: float = 1.0
    byte_fallback: bool = False
    max_sentences: int = 1_000_000

    def __post_init__(self) -> None:
        known = ("bpe", "unigram")
        _require(self.algorithm in known, "algorithm", f"one of {known}", self.algorithm)
        coverage = self.character_coverage
        _require(0.0 < coverage <= 1.0, "character_coverage", "in (0, 1]", coverage)
        _require_positive(self, "max_sentences")


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """The corpora of a run and how they become batches.

    A corpus is one of: `phrasebook[:SPLIT[:SIZE]]` (built in), `tfds:NAME[:SPLIT]` (a TFDS
    translation data set, or a local folder in TranslateFolder's layout), `FILE.tsv[.gz]`, the
    prefix of two parallel files (`PREFIX.en[.gz]` and `PREFIX.de[.gz]`), or a list of two files.

    Args:
        train: Training corpus.
        valid: Corpus that is scored after each epoch; None for none.
        source_language: Language code of the source.
        target_language: Language code of the target.
        batch_tokens: Most source tokens, and most target tokens, of one batch.
        shuffle_buffer: Pairs held in memory for shuffling.
        max_ratio: Drop pairs of which one side is longer than the other by more than this factor.
        mix: Further training corpora, each with the pairs of it that are read for one pair of
            `train`: 2 for two, 0.5 for one in two. A pass is one over `train`; of the others the
            next goes on where the last one ended.
        subword_dropout: Subword regularisation: probability with which a merge is left out when a
            training line is cut into pieces (BPE-dropout, arXiv 1910.13267), drawn anew in each
            epoch; with the unigram algorithm, alpha of its sampling (arXiv 1804.10959). 0 for none.
    """

    train: list[str] | str = "phrasebook:train"
    valid: list[str] | str | None = "phrasebook:valid"
    source_language: str = "en"
    target_language: str = "de"
    batch_tokens: int = 4096
    shuffle_buffer: int = 200_000
    max_ratio: float | None = None
    mix: dict[str, float] = dataclasses.field(default_factory=dict)
    subword_dropout: float = 0.0

    def __post_init__(self) -> None:
        _require_positive(self, "batch_tokens", "shuffle_buffer")
        ratio = self.max_ratio
        _require(ratio is None or ratio >= 1.0, "max_ratio", "at least 1, or None", ratio)
        for spec, weight in self.mix.items():
            _require(weight > 0, "mix", "corpora with positive weights", {spec: weight})
        _require_fraction(self, "subword_dropout")


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """The training regime of Section 5, and what a run keeps.

    Args:
        epochs: Passes over the training corpus.
        max_steps: Stop after so many steps, whatever the epochs; None for no such limit.
        learning_rate: Factor on the paper's schedule (Equation 3).
        warmup_steps: Steps of linear warm-up (Section 5.3).
        beta_1: Adam's beta_1 (Section 5.3).
        beta_2: Adam's beta_2 (Section 5.3).
        epsilon: Adam's epsilon (Section 5.3).
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
        early_stopping: What has to improve: "bleu" or "loss", of the validation corpus.
        patience: Epochs without improvement after which training stops; None to go on.
        checkpoint_steps: Steps between checkpoints within an epoch, each scored by validation BLEU;
            None for one after each epoch.
        checkpoint_minutes: Minutes after which a checkpoint is written to resume from, if no other
            was; it is not scored, and is removed when there is a newer one. None for none.
        keep_checkpoints: Newest scored checkpoints that are kept.
        keep_best: Best checkpoints by validation BLEU that are kept besides.
        average_checkpoints: Checkpoints of which the mean is saved when training has ended (Section
            6.1: 5 for base, 20 for big); 0 for none.
        average_best: Average the best checkpoints in place of the newest.
        bleu_sentences: Validation sentences that are translated for BLEU; 0 for none.
        bleu_tokenize: sacreBLEU's tokenizer: "13a" for raw text, "none" for text that is tokenised
            already, "zh", "ja-mecab" or "ko-mecab" where the target language writes no spaces.
        samples: Translations shown with each BLEU.
    """

    epochs: int = 10
    max_steps: int | None = None
    learning_rate: float = 1.0
    warmup_steps: int = 4000
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-9
    clip_norm: float | None = None
    ema_momentum: float | None = None
    seed: int = 0
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = "float32"
    jit_compile: bool = False
    micro_batches: int = 1
    freeze: tuple[str, ...] = ()
    early_stopping: Literal["bleu", "loss"] = "bleu"
    patience: int | None = None
    checkpoint_steps: int | None = None
    checkpoint_minutes: float | None = 10.0
    keep_checkpoints: int = 3
    keep_best: int = 1
    average_checkpoints: int = 0
    average_best: bool = False
    bleu_sentences: int = 1000
    bleu_tokenize: str = "13a"
    samples: int = 3

    def __post_init__(self) -> None:
        _require_positive(
            self, "epochs", "learning_rate", "warmup_steps", "epsilon", "keep_checkpoints"
        )
        _require_fraction(self, "beta_1", "beta_2")
        optional = ("clip_norm", "max_steps", "patience", "checkpoint_steps", "checkpoint_minutes")
        for name in optional:
            value = getattr(self, name)
            _require(value is None or value > 0, name, "positive or None", value)
        momentum = self.ema_momentum
        allowed = momentum is None or 0.0 < momentum < 1.0
        _require(allowed, "ema_momentum", "in (0, 1), or None", momentum)
        for name, known in (
            ("precision", ("float32", "mixed_bfloat16", "mixed_float16")),
            ("early_stopping", ("bleu", "loss")),
        ):
            _require(getattr(self, name) in known, name, f"one of {known}", getattr(self, name))
        counts = ("bleu_sentences", "samples", "seed", "micro_batches", "keep_best")
        for name in (*counts, "average_checkpoints"):
            _require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
        kept = "keep_best" if self.average_best else "keep_checkpoints"
        expected = f"at most {kept}={getattr(self, kept)}, the checkpoints there will be"
        fits = self.average_checkpoints <= getattr(self, kept)
        _require(fits, "average_checkpoints", expected, self.average_checkpoints)


@dataclasses.dataclass(frozen=True)
class DecodingConfig:
    """How translations are searched.

    Args:
        beam_size: Hypotheses that are extended side by side (Section 6.1: 4); 1 is greedy search.
        length_penalty: alpha, exponent of the length penalty (Section 6.1: 0.6).
        coverage_penalty: beta, weight of GNMT's penalty for source tokens that get no attention.
        early_stopping: End the search of a sentence once `beam_size` hypotheses have ended, and not
            only when no other can win any more. Faster, and almost as good.
        num_hypotheses: Translations of each sentence, at most `beam_size` unless sampled.
        max_extra_tokens: A translation has at most this many tokens more than its source
            (Section 6.1: input length + 50).
        min_length: Least tokens of a translation, eos not counted. With 0, a beam finds the empty
            translation of some sentences.
        no_repeat_ngram: Allow no sequence of so many tokens twice in a translation; 0 allows all.
        banned_pieces: Pieces of the vocabulary that no translation contains.
        sampling: Draw translations at random in place of a beam.
        temperature: Of the sampling: below 1 makes likely tokens likelier.
        top_k: Sample from so many of the most probable tokens; 0 for all.
        top_p: Sample from the fewest most probable tokens of this probability together.
        seed: Of the sampling.
        split_sentences: Translate each sentence of a text on its own, and not only those of a text
            that is too long for the model: for documents, where it was trained on sentences.
        batch_size: Sentences that are translated together.
    """

    beam_size: int = 4
    length_penalty: float = 0.6
    coverage_penalty: float = 0.0
    early_stopping: bool = False
    num_hypotheses: int = 1
    max_extra_tokens: int = 50
    min_length: int = 1
    no_repeat_ngram: int = 0
    banned_pieces: tuple[str, ...] = ()
    sampling: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    split_sentences: bool = False
    batch_size: int = 64

    def __post_init__(self) -> None:
        _require_positive(self, "beam_size", "num_hypotheses", "temperature", "batch_size")
        at_least_0 = ("coverage_penalty", "max_extra_tokens", "min_length", "no_repeat_ngram")
        for name in (*at_least_0, "top_k", "seed"):
            _require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))
        _require(0.0 < self.top_p <= 1.0, "top_p", "in (0, 1]", self.top_p)
        fits = self.sampling or self.num_hypotheses <= self.beam_size
        expected = f"at most beam_size={self.beam_size} unless sampled"
        _require(fits, "num_hypotheses", expected, self.num_hypotheses)
        # JSON and YAML give lists.
        object.__setattr__(self, "banned_pieces", tuple(self.banned_pieces))

    def greedy(self) -> "DecodingConfig":
        """Returns the same with greedy search: one hypothesis, and no penalty to order it by."""
        return dataclasses.replace(
            self, beam_size=1, num_hypotheses=1, coverage_penalty=0.0, sampling=False
        )


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run.

    Args:
        model: The model; its `vocab_size` is the size of the vocabulary that is learned.
        tokenizer: The subword tokenizer.
        data: The corpora.
        training: The training regime.
        decoding: How translations are searched. BLEU after each epoch is that of greedy search,
            which ranks checkpoints as well and takes a fraction of the time.
    """

    model: TransformerConfig = TransformerConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Returns nested plain values, as `run.json` holds them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Mapping[str, Any]]) -> "RunConfig":
        """Returns the configuration that `to_dict` gave.

        Raises:
            TypeError: If a field is unknown.
        """
        sections = {field.name: field.type for field in dataclasses.fields(cls)}
        return cls(**{name: _restored(sections[name], part) for name, part in values.items()})


def _restored(section: type, values: Mapping[str, Any]) -> Any:
    """Makes a section of the values that JSON has, which knows lists in place of tuples."""
    tuples = {f.name for f in dataclasses.fields(section) if isinstance(f.default, tuple)}
    return section(**{n: tuple(v) if n in tuples else v for n, v in values.items()})
