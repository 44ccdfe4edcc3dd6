"""What the configuration refuses, what its presets say, and that it survives JSON."""

import dataclasses
import json

import pytest

from keras_transformer import (
    PRESETS,
    TRAINING_PRESETS,
    DataConfig,
    DecodingConfig,
    RunConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
    ValidationConfig,
)

pytestmark = pytest.mark.any_backend

CONFIGS = [
    TransformerConfig,
    TokenizerConfig,
    DataConfig,
    TrainingConfig,
    DecodingConfig,
    ValidationConfig,
    RunConfig,
]

# Table 3 of the paper: N, d_model, d_ff, h, d_k, d_v, P_drop, epsilon_ls.
TABLE_3 = {
    "base": (6, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "base_h1": (6, 512, 2048, 1, 512, 512, 0.1, 0.1),
    "base_h4": (6, 512, 2048, 4, 128, 128, 0.1, 0.1),
    "base_h16": (6, 512, 2048, 16, 32, 32, 0.1, 0.1),
    "base_h32": (6, 512, 2048, 32, 16, 16, 0.1, 0.1),
    "base_dk16": (6, 512, 2048, 8, 16, 64, 0.1, 0.1),
    "base_dk32": (6, 512, 2048, 8, 32, 64, 0.1, 0.1),
    "base_n2": (2, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "base_n4": (4, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "base_n8": (8, 512, 2048, 8, 64, 64, 0.1, 0.1),
    # The paper prints d_k = d_v = 32 and 128 for these two: 8 heads of d_model / 8.
    "base_d256": (6, 256, 2048, 8, 32, 32, 0.1, 0.1),
    "base_d1024": (6, 1024, 2048, 8, 128, 128, 0.1, 0.1),
    "base_ff1024": (6, 512, 1024, 8, 64, 64, 0.1, 0.1),
    "base_ff4096": (6, 512, 4096, 8, 64, 64, 0.1, 0.1),
    "base_drop0.0": (6, 512, 2048, 8, 64, 64, 0.0, 0.1),
    "base_drop0.2": (6, 512, 2048, 8, 64, 64, 0.2, 0.1),
    "base_ls0.0": (6, 512, 2048, 8, 64, 64, 0.1, 0.0),
    "base_ls0.2": (6, 512, 2048, 8, 64, 64, 0.1, 0.2),
    "base_learned_positions": (6, 512, 2048, 8, 64, 64, 0.1, 0.1),
    "big": (6, 1024, 4096, 16, 64, 64, 0.3, 0.1),
}


@pytest.mark.parametrize("name", TABLE_3)
def test_preset_is_its_row_of_table_3(name):
    config = TransformerConfig.preset(name)
    assert (
        config.num_layers,
        config.d_model,
        config.d_ff,
        config.num_heads,
        config.head_key_dim,
        config.head_value_dim,
        config.dropout,
        TrainingConfig(**TRAINING_PRESETS.get(name, {})).label_smoothing,
    ) == TABLE_3[name]
    learned = name == "base_learned_positions"
    assert config.positions == ("learned" if learned else "sinusoidal")
    # What Table 3 does not vary is the paper's in every row.
    assert (config.norm_first, config.tie_embeddings, config.activation) == (False, True, "relu")
    assert config.attention_dropout == 0.0
    assert config.joint_vocabulary


def test_every_preset_is_tested():
    assert set(PRESETS) == {*TABLE_3, "tiny"}


def test_preset_takes_overrides():
    config = TransformerConfig.preset("big", vocab_size=36_000, dropout=0.2)
    assert (config.vocab_size, config.dropout, config.d_model) == (36_000, 0.2, 1024)


def test_unknown_preset_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"base_h16.*Received: 'huge'") as error:
        TransformerConfig.preset("huge")
    assert all(name in str(error.value) for name in PRESETS)


REFUSED = [
    (TransformerConfig, dict(d_model=30, num_heads=4), "d_model"),
    (TransformerConfig, dict(d_model=30, num_heads=4, key_dim=8), "d_model"),
    (TransformerConfig, dict(d_model=33, num_heads=3), "d_model"),
    *[
        (TransformerConfig, {name: value}, name)
        for name in ("vocab_size", "num_layers", "d_model", "d_ff", "num_heads", "max_length")
        for value in (0, -1)
    ],
    *[
        (TransformerConfig, {name: value}, name)
        for name in ("source_vocab_size", "key_dim", "value_dim", "window")
        for value in (0, -1)
    ],
    *[
        (TransformerConfig, {name: value}, name)
        for name in ("dropout", "attention_dropout")
        for value in (-0.1, 1.0, 1.5)
    ],
    (TransformerConfig, dict(max_length=1), "max_length"),
    (TransformerConfig, dict(positions="rotary"), "positions"),
    (TransformerConfig, dict(attention_score="location"), "attention_score"),
    (TokenizerConfig, dict(algorithm="wordpiece"), "algorithm"),
    (TokenizerConfig, dict(character_coverage=0.0), "character_coverage"),
    (TokenizerConfig, dict(character_coverage=1.1), "character_coverage"),
    (TokenizerConfig, dict(max_sentences=0), "max_sentences"),
    (DataConfig, dict(batch_tokens=0), "batch_tokens"),
    (DataConfig, dict(shuffle_buffer=0), "shuffle_buffer"),
    (DataConfig, dict(max_ratio=0.9), "max_ratio"),
    *[
        (TrainingConfig, {name: 0}, name)
        for name in (
            "epochs",
            "learning_rate_factor",
            "warmup_steps",
            "epsilon",
            "keep_checkpoints",
        )
    ],
    *[
        (TrainingConfig, {name: value}, name)
        for name in ("beta_1", "beta_2", "label_smoothing")
        for value in (-0.1, 1.0)
    ],
    (TrainingConfig, dict(clip_norm=0.0), "clip_norm"),
    *[(TrainingConfig, dict(ema_momentum=value), "ema_momentum") for value in (0.0, 1.0)],
    (TrainingConfig, dict(precision="float16"), "precision"),
    (TrainingConfig, dict(seed=-1), "seed"),
    (TrainingConfig, dict(schedule="cosine"), "schedule"),
    (TrainingConfig, dict(schedule="trapezoid"), "cooldown"),
    (TrainingConfig, dict(cooldown=1.1), "cooldown"),
    (TrainingConfig, dict(minutes=0), "minutes"),
    (TrainingConfig, dict(epochs=None), "epochs"),
    *[(ValidationConfig, {name: -1}, name) for name in ("bleu_sentences", "samples")],
    *[
        (DecodingConfig, {name: value}, name)
        for name in ("beam_size", "num_hypotheses", "temperature", "batch_size")
        for value in (0, -1)
    ],
    *[
        (DecodingConfig, {name: -1}, name)
        for name in ("coverage_penalty", "max_extra_tokens", "min_length", "no_repeat_ngram")
    ],
    *[(DecodingConfig, {name: -1}, name) for name in ("top_k", "seed")],
    *[(DecodingConfig, dict(top_p=value), "top_p") for value in (0.0, -0.1, 1.1)],
    (DecodingConfig, dict(beam_size=2, num_hypotheses=3), "num_hypotheses"),
    (DecodingConfig, dict(beam_size=1, num_hypotheses=2), "num_hypotheses"),
]


@pytest.mark.parametrize(("config_class", "fields", "argument"), REFUSED, ids=str)
def test_refuses_and_names_the_argument_and_what_it_received(config_class, fields, argument):
    with pytest.raises(ValueError, match=f"`{argument}` must be .*Received: {argument}="):
        config_class(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        dict(d_model=30, num_heads=4, key_dim=8, value_dim=8),
        dict(d_model=33, num_heads=3, positions="learned"),
        dict(d_model=33, num_heads=3, positions="none"),
        dict(dropout=0.0, attention_dropout=0.0),
        dict(dropout=0.99),
    ],
    ids=str,
)
def test_allows(fields):
    config = TransformerConfig(**fields)
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.parametrize(
    "fields",
    [
        dict(beam_size=3, num_hypotheses=3),
        dict(beam_size=1, num_hypotheses=5, sampling=True),
        dict(length_penalty=-0.5),
        dict(top_p=1.0, top_k=0, min_length=0, no_repeat_ngram=0, max_extra_tokens=0),
    ],
    ids=str,
)
def test_decoding_allows(fields):
    config = DecodingConfig(**fields)
    assert {name: getattr(config, name) for name in fields} == fields


def test_a_list_is_what_its_tuple_is():
    """A run that goes on compares its configuration with what JSON gives."""
    assert TrainingConfig(freeze=["encoder"]) == TrainingConfig(freeze=("encoder",))


def test_a_section_that_there_is_not():
    with pytest.raises(TypeError, match="RunConfig has no section model2"):
        RunConfig.from_dict({**RunConfig().to_dict(), "model2": {}})


def test_decoding_is_by_default_that_of_section_6_1():
    config = DecodingConfig()
    assert (config.beam_size, config.length_penalty, config.max_extra_tokens) == (4, 0.6, 50)
    assert not config.sampling


@pytest.mark.parametrize("sampling", [False, True])
def test_greedy_changes_what_a_search_of_one_hypothesis_does_not_have(sampling):
    others = dict(
        length_penalty=0.3,
        max_extra_tokens=7,
        min_length=2,
        no_repeat_ngram=3,
        banned_pieces=("a",),
        batch_size=9,
    )
    config = DecodingConfig(
        beam_size=5, num_hypotheses=4, coverage_penalty=0.2, sampling=sampling, **others
    )
    assert config.greedy() == DecodingConfig(beam_size=1, **others)


def test_banned_pieces_are_a_tuple_whatever_they_were():
    assert DecodingConfig(banned_pieces=["a", "b"]) == DecodingConfig(banned_pieces=("a", "b"))


def test_head_widths_default_to_a_share_of_d_model_each_on_its_own():
    config = TransformerConfig(d_model=64, num_heads=4, key_dim=3)
    assert (config.head_key_dim, config.head_value_dim) == (3, 16)
    config = TransformerConfig(d_model=64, num_heads=4, value_dim=5)
    assert (config.head_key_dim, config.head_value_dim) == (16, 5)


@pytest.mark.parametrize("config_class", CONFIGS)
def test_configurations_are_frozen(config_class):
    config = config_class()
    for field in dataclasses.fields(config):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(config, field.name, None)


def test_run_config_survives_json():
    config = RunConfig(
        model=TransformerConfig.preset("base_dk16", source_vocab_size=500, norm_first=True),
        tokenizer=TokenizerConfig(algorithm="unigram", character_coverage=0.9995),
        data=DataConfig(train=["a.en", "a.de"], valid=None, max_ratio=3.0),
        training=TrainingConfig(clip_norm=1.0, precision="mixed_bfloat16", epsilon=1e-9),
        decoding=DecodingConfig(max_extra_tokens=7, banned_pieces=("\u2581the",), top_p=0.9),
    )
    values = json.loads(json.dumps(config.to_dict()))
    assert RunConfig.from_dict(values) == config
    assert RunConfig.from_dict(json.loads(json.dumps(RunConfig().to_dict()))) == RunConfig()


def test_run_config_takes_defaults_for_what_is_missing_and_refuses_the_unknown():
    partial = RunConfig.from_dict({"training": {"epochs": 3}})
    assert partial == RunConfig(training=TrainingConfig(epochs=3))
    with pytest.raises(TypeError, match="epoch"):
        RunConfig.from_dict({"training": {"epoch": 3}})


SAMPLES = {"sampling": True, "num_hypotheses": 2}


@pytest.mark.parametrize(
    ("config", "options", "refused"),
    [
        ({}, {"temperature": 0.7}, "temperature"),
        ({}, {"top_k": 5}, "top_k"),
        ({}, {"top_p": 0.9}, "top_p"),
        ({}, {"seed": 3}, "seed"),
        ({"sampling": True}, {"sampling": False, "seed": 3}, "seed"),
        ({}, {"sampling": True, "beam_size": 8}, "beam_size"),
        (SAMPLES, {"length_penalty": 1.0}, "length_penalty"),
        (SAMPLES, {"early_stopping": True}, "early_stopping"),
        ({"sampling": True}, {"coverage_penalty": 0.2}, "coverage_penalty"),
        ({}, {"beam_size": 1, "coverage_penalty": 0.2}, "coverage_penalty"),
        ({"beam_size": 1}, {"length_penalty": 1.0}, "length_penalty"),
        ({"beam_size": 1}, {"early_stopping": True}, "early_stopping"),
        ({"sampling": True}, {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "seed": 3}, None),
        (SAMPLES, {"coverage_penalty": 0.2}, None),
        ({"temperature": 0.7, "beam_size": 1}, {"beam_size": 2, "length_penalty": 1.0}, None),
        ({"beam_size": 1, "coverage_penalty": 0.2}, {"min_length": 3}, None),
        ({"beam_size": 1}, {"coverage_penalty": 0, "length_penalty": 0.0}, None),
        ({}, {"beam_size": 1, "early_stopping": False, "coverage_penalty": 0.0}, None),
        ({}, {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": None}, None),
        (SAMPLES, {"beam_size": 1, "length_penalty": 0.0, "early_stopping": False}, None),
    ],
)
def test_an_option_without_effect_is_said_to_have_none(config, options, refused):
    """What the configuration has of it may stay: another call may read it."""
    config = DecodingConfig(**config)
    if refused is None:
        assert config.with_options(options) == dataclasses.replace(config, **options)
        return
    with pytest.raises(ValueError, match=f"`{refused}` has no effect .*leave it out.*{refused}="):
        config.with_options(options)
