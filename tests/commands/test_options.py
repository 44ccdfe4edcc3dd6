"""The command lines: defaults, presets and recipes of `train.py`, and the options of decoding."""

import argparse
import dataclasses
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from toy_family import FAMILY, ToyConfig
from toy_task import ReversalConfig

from keras_transformer import PRESETS, DecodingConfig, RunConfig, TransformerConfig
from keras_transformer.commands.export import COMMAND as EXPORT
from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_decoding_options,
    given_decoding_options,
    open_quietly,
)
from keras_transformer.commands.train import parse_training_command
from keras_transformer.config import TRAINING_PRESETS
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.models.families import FAMILIES, family_of_preset

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.fixture
def recipe(tmp_path):
    """Writes a YAML file and returns its path."""

    def write(text):
        path = tmp_path / "recipe.yaml"
        path.write_text(text)
        return str(path)

    return write


def parse(*arguments):
    return parse_training_command(["--output", "runs/a", *arguments]).config


def error_of(capsys, *arguments):
    with pytest.raises(SystemExit) as raised:
        parse(*arguments)
    assert raised.value.code == 2
    return capsys.readouterr().err


def test_defaults_are_those_of_the_dataclasses():
    command = parse_training_command(["--output", "runs/a"])
    assert command.output == Path("runs/a")
    assert command.config == RunConfig()


def test_arguments_of_the_process(monkeypatch):
    monkeypatch.setattr("sys.argv", ["train.py", "--output", "b", "--training.epochs", "3"])
    command = parse_training_command()
    assert (command.output, command.config.training.epochs) == (Path("b"), 3)


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    assert parse("--preset", name).model == TransformerConfig.preset(name)


def test_the_command_line_beats_the_recipe_and_that_the_preset(recipe):
    path = recipe("preset: tiny\nmodel:\n  d_ff: 99\n  dropout: 0.25\ntraining:\n  epochs: 7\n")
    config = parse("--config", path, "--model.dropout", "0.5", "--model.num_heads=8")
    expected = TransformerConfig.preset("tiny", d_ff=99, dropout=0.5, num_heads=8)
    assert config.model == expected
    assert config.training.epochs == 7
    assert config.training.seed == RunConfig().training.seed


@pytest.mark.parametrize("option", [["--config", "PATH"], ["--config=PATH"]])
def test_the_order_of_the_arguments_does_not_matter(recipe, option):
    path = recipe("preset: tiny\nmodel:\n  dropout: 0.25\n  d_ff: 99\n")
    option = [argument.replace("PATH", path) for argument in option]
    config = parse("--model.dropout", "0.5", "--preset", "base_h4", *option, "--model.d_model=64")
    assert config.model == TransformerConfig.preset("base_h4", d_model=64, d_ff=99, dropout=0.5)


def test_a_preset_of_the_command_line_beats_that_of_the_recipe(recipe):
    path = recipe("preset: tiny\nmodel:\n  d_ff: 99\n")
    assert parse("--config", path, "--preset=big").model == TransformerConfig.preset("big", d_ff=99)


def test_what_of_a_preset_has_no_effect_is_told(recipe, capsys):
    """A row of Table 3 that is asked for by name, and a recipe that spells that value out."""
    path = recipe("preset: base\nmodel:\n  dropout: 0.1\n  d_model: 1024\n")
    config = parse("--config", path, "--preset=big", "--model.num_heads=8")
    assert (config.model.dropout, config.model.d_model, config.model.num_heads) == (0.1, 1024, 8)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("--preset big: the recipe's model.dropout 0.1 has precedence over 0.3;")
    assert line.endswith("--model.dropout 0.3")


def test_later_recipes_beat_earlier_ones(tmp_path):
    for name, text in (("a", "model: {d_ff: 1, dropout: 0.5}"), ("b", "model: {d_ff: 2}")):
        (tmp_path / name).write_text(text)
    model = parse("--config", f"{tmp_path}/a", "--config", f"{tmp_path}/b").model
    assert (model.d_ff, model.dropout) == (2, 0.5)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_every_recipe_parses(path):
    recipe = yaml.safe_load(path.read_text())
    task, name = recipe.pop("task", "translation"), recipe.pop("preset", "base")
    family = family_of_preset(name)
    model = family.config(**family.presets[name])
    expected = {**RUN_CONFIGS[task]().to_dict(), "model": dataclasses.asdict(model)}
    expected["training"] |= TRAINING_PRESETS.get(name, {})
    for section, values in recipe.items():
        expected[section].update(values)
    assert parse("--config", str(path)).to_dict() == expected


def test_there_are_recipes():
    assert RECIPES


def test_a_corpus_of_two_files(recipe):
    files = ["corpus/a.en", "corpus/b.de.gz"]
    assert parse("--data.train", '["corpus/a.en", "corpus/b.de.gz"]').data.train == files
    path = recipe("data:\n  train:\n  - corpus/a.en\n  - corpus/b.de.gz\n")
    assert parse("--config", path).data.train == files
    assert parse("--data.train", "corpus/a").data.train == "corpus/a"


def test_recipes_are_utf_8(tmp_path, monkeypatch):
    """The parser, which reads files in the encoding of the locale, is handed none."""
    monkeypatch.delattr("jsonargparse._paths.Path.read_text")
    path = tmp_path / "recipe.yaml"
    path.write_bytes("data: {train: \u00dcbersetzung}".encode())
    assert parse("--config", str(path)).data.train == "\u00dcbersetzung"


@pytest.mark.parametrize("text", ["no", "on", "off", "yes", "012", "1e-9", "2024-01-01", "12:30"])
def test_text_is_what_was_written(recipe, text):
    """Norwegian is `no`, which YAML takes for a boolean, as it takes others for numbers."""
    path = recipe(f"""
        data:
          target_language: {text}
          train: [{text}, {text}.de]
          mix: {{{text}: 0.5}}
        decoding: {{banned_pieces: [{text}]}}
    """)
    for config in (
        parse("--config", path),
        parse(
            *("--data.target_language", text, "--data.train", f"[{text}, {text}.de]"),
            *("--data.mix", f"{{{text}: 0.5}}", "--decoding.banned_pieces", f"[{text}]"),
        ),
    ):
        assert config.data.target_language == text
        assert config.data.train == [text, f"{text}.de"]
        assert config.data.mix == {text: 0.5}
        assert config.decoding.banned_pieces == (text,)


def test_numbers_booleans_and_null_of_a_recipe(recipe):
    config = parse(
        "--config",
        recipe("""
            model: &model {norm_first: true, dropout: 1e-1, source_vocab_size: ~}
            data: {valid: null, max_ratio: 2, batch_tokens: 12_000, mix: {a: .5, b: 2}}
            training: {epochs: 3}
        """),
    )
    assert config.model == TransformerConfig(norm_first=True, dropout=0.1)
    assert config.data.valid is None
    assert config.data.max_ratio == 2.0
    assert config.data.batch_tokens == 12_000
    assert config.data.mix == {"a": 0.5, "b": 2.0}
    assert config.training.epochs == 3


def test_nothing_as_a_value():
    config = parse("--data.valid=null", "--training.clip_norm=null")
    assert config.data.valid is None
    assert config.training.clip_norm is None
    assert parse("--model.source_vocab_size=1000").model.source_vocab_size == 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model.dropout", "1.5"], ["`dropout` must be in [0, 1)", "dropout=1.5"]),
        (["--model.d_model", "wide"], ["model.d_model", "wide"]),
        (["--model.num_heads", "7"], ["`d_model` must be divisible by `num_heads`", "num_heads=7"]),
        (["--model.positions", "spiral"], ["model.positions", "spiral"]),
        (["--training.epochs", "0"], ["`epochs` must be positive", "epochs=0"]),
        (["--training.precision", "float8"], ["training.precision", "float8"]),
        (["--data.max_ratio", "0.5"], ["`max_ratio` must be at least 1", "max_ratio=0.5"]),
        (["--decoding.batch_size", "0"], ["`batch_size` must be positive", "batch_size=0"]),
        (["--decoding.num_hypotheses", "5"], ["`num_hypotheses` must be at most beam_size=4"]),
        (["--tokenizer.algorithm", "words"], ["tokenizer.algorithm", "words"]),
        (["--preset", "huge"], ["preset", "huge", "base_learned_positions"]),
        (["--model.depth", "3"], ["--model.depth"]),
        (["--training.learning_rat", "3"], ["--training.learning_rat 3"]),
        (["--task", "painting"], ["task", "painting", "translation"]),
        (["--time", "an hour"], ["`time` must be such as 90s, 60m or 2h", "'an hour'"]),
        (["--training.schedule=trapezoid"], ["`cooldown` must be 0", "`minutes` says when"]),
        (["--training.epochs=null"], ["`epochs` must be a number", "epochs=None"]),
        (["--config", "missing.yaml"], ["missing.yaml"]),
        (["--config"], ["train.py", "--config", "expected one argument"]),
    ],
)
def test_a_refused_value_is_named(capsys, arguments, words):
    error = error_of(capsys, *arguments)
    for word in words:
        assert word in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model:\n  depth: 3\n", ["depth"]),
        ("modle:\n  d_ff: 3\n", ["modle"]),
        ("training:\n  epochs: many\n", ["epochs", "many"]),
        ("model:\n  dropout: 1.5\n", ["`dropout` must be in [0, 1)", "dropout=1.5"]),
        ("preset: huge\n", ["preset", "huge"]),
    ],
)
def test_a_refused_recipe_names_the_key(capsys, recipe, text, words):
    error = error_of(capsys, "--config", recipe(text))
    for word in words:
        assert word in error
    assert "Traceback" not in error


def test_an_output_is_required(capsys):
    with pytest.raises(SystemExit):
        parse_training_command(["--preset=tiny"])
    assert "output" in capsys.readouterr().err


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as raised:
        parse_training_command(["--help"])
    assert raised.value.code == 0
    text = capsys.readouterr().out
    for section in dataclasses.fields(RunConfig):
        for field in dataclasses.fields(getattr(RunConfig(), section.name)):
            assert f"--{section.name}.{field.name}" in text


@pytest.mark.parametrize("place", ["arguments", "recipe"])
def test_preset_and_task_decide_which_options_there_are(place, recipe, monkeypatch):
    monkeypatch.setitem(FAMILIES, FAMILY.name, FAMILY)
    monkeypatch.setitem(RUN_CONFIGS, ReversalConfig.task, ReversalConfig)
    chosen = ["--preset=toy", f"--task={ReversalConfig.task}"]
    if place == "recipe":
        chosen = ["--config", recipe(f"preset: toy\ntask: {ReversalConfig.task}\n")]
    config = parse(*chosen, "--model.dropout=0.4")
    assert isinstance(config, ReversalConfig)
    assert config.model == ToyConfig(**FAMILY.presets["toy"], dropout=0.4)
    # Those of the command line have precedence.
    config = parse(*chosen, "--preset=tiny", "--task=translation", "--model.num_heads=2")
    assert config == RunConfig(TransformerConfig.preset("tiny", num_heads=2))


def test_the_configuration_is_printed_as_a_recipe(capsys, tmp_path):
    arguments = ["--preset=base_ls0.2", "--model.num_layers=2", "--data.valid=null"]
    expected = parse(*arguments)
    with pytest.raises(SystemExit) as raised:
        parse(*arguments, "--verbose", "--print_config")
    assert raised.value.code == 0
    (tmp_path / "printed").write_text(capsys.readouterr().out)
    assert parse("--config", str(tmp_path / "printed")) == expected


@pytest.mark.parametrize(
    ("text", "minutes"), [("90s", 1.5), ("60m", 60.0), ("2h", 120.0), ("0.5h", 30.0)]
)
def test_time(recipe, capsys, text, minutes):
    """It ends the training in place of a recipe's epochs and steps, but not of the command's.

    The rate falls by steps as well as by time, and not by epochs.
    """
    path = recipe(f"time: {text}\ntraining:\n  epochs: 7\n  max_steps: 5\n  warmup_steps: 3\n")
    for arguments in ([f"--time={text}"], ["--config", path], ["--config", path, "--time", text]):
        training = parse(*arguments).training
        assert (training.minutes, training.epochs, training.max_steps) == (minutes, None, None)
        assert training.schedule == "trapezoid"
    training = parse("--config", path, "--training.max_steps=9").training
    assert (training.minutes, training.max_steps, training.warmup_steps) == (minutes, 9, 3)
    with pytest.raises(SystemExit):
        parse("--config", path, "--training.epochs=9")
    assert "argument --training.epochs: must be left out with --time" in capsys.readouterr().err


def test_what_was_asked_for(recipe):
    """Options of the command line and of recipes; rules are for command lines without these."""
    path = recipe("data:\n  valid: null\n  mix: {a: 1}\nmodel: {d_ff: 64}\n")

    def choices(*arguments):
        return parse_training_command(["--output=a", *arguments]).choices

    found = choices("--model.dropout", "0.1", "--data.train=[a, b]")
    assert found.automatic
    assert found.given == {"output", "model.dropout", "data.train"}
    assert choices("--time=9m").given >= {"training.minutes", "training.epochs"}
    for arguments in (["--preset=base"], ["--config", path]):
        assert not choices(*arguments).automatic
    found = choices("--config", path, "--training.seed=0").given
    assert {"data.valid", "data.mix", "model.d_ff", "training.seed"} <= found
    assert not {"data.train", "model.d_model"} & found
    assert choices("--config", path, "--preset=auto").automatic


def test_presets_of_the_training():
    assert parse("--preset", "base_ls0.2").training.label_smoothing == 0.2


# Commands that decode.


@pytest.fixture
def decoding_parser():
    parser = argparse.ArgumentParser()
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    return parser


def test_decoding_options_are_those_that_were_given(decoding_parser):
    assert given_decoding_options(decoding_parser.parse_args([])) == {}
    # A value that is the default, or false, is given all the same.
    given = {"beam_size": 4, "length_penalty": 0.0, "sampling": False, "top_p": 0.9, "seed": 0}
    arguments = ["--beam_size=4", "--length_penalty=0", "--no-sampling", "--top_p=.9", "--seed=0"]
    assert given_decoding_options(decoding_parser.parse_args(arguments)) == given
    arguments = ["--sampling", "--banned_pieces", "\u2581a", "b"]
    options = given_decoding_options(decoding_parser.parse_args(arguments))
    assert options == {"sampling": True, "banned_pieces": ["\u2581a", "b"]}
    assert DecodingConfig(**options).banned_pieces == ("\u2581a", "b")


def test_there_is_an_option_for_each_field_of_decoding(decoding_parser, capsys):
    with pytest.raises(SystemExit):
        decoding_parser.parse_args(["--help"])
    text = capsys.readouterr().out
    for field in dataclasses.fields(DecodingConfig):
        assert f"--{field.name}" in text
    assert "Hypotheses that are extended side by side" in text


ALL = {field.name for field in dataclasses.fields(DecodingConfig)}
# What `generate` of transformers has as well.
GENERATE = {"beam_size", "length_penalty", "early_stopping", "min_length", "no_repeat_ngram"}
GENERATE |= {"banned_pieces", "target_language", "sampling", "temperature", "top_k", "top_p"}


@pytest.mark.parametrize(
    ("name", "without_effect"),
    [
        ("saved_model", {"batch_size"}),
        ("serving", {"batch_size"}),
        ("tflite", {"batch_size", "num_hypotheses", "split_sentences"}),
        ("ctranslate2", ALL - {"target_language"}),
        ("huggingface", ALL - GENERATE),
    ],
)
def test_what_a_format_leaves_behind_is_refused(capsys, name, without_effect):
    values = {"sampling": [], "split_sentences": [], "early_stopping": [], "banned_pieces": ["a"]}
    values["length_normalization"] = ["length"]
    for option in sorted(ALL):
        given = [f"--{option}", *values.get(option, ["1"])]
        arguments = ["runs/a", "--output", "exports/a", "--format", name, *given]
        if option not in without_effect:
            assert EXPORT.parsed(arguments, "export.py").format == name
            continue
        with pytest.raises(SystemExit):
            EXPORT.parsed(arguments, "export.py")
        expected = f"--{option} has no effect with --format {name}: "
        assert expected in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--beam_size", "many"], ["--checkpoint", "first"]], ids=str)
def test_a_refused_option_of_decoding_is_named(decoding_parser, capsys, arguments):
    with pytest.raises(SystemExit):
        decoding_parser.parse_args(arguments)
    error = capsys.readouterr().err
    assert all(word in error for word in arguments)


def test_a_recipe_of_decoding(recipe):
    path = recipe("decoding:\n  beam_size: 7\n  banned_pieces: [a, b]\n  sampling: true\n")
    expected = DecodingConfig(beam_size=7, banned_pieces=("a", "b"), sampling=True)
    assert parse("--config", path).decoding == expected


class TestBatchesAtOnce:
    @pytest.fixture
    def opened(self, monkeypatch):
        """Opens what does nothing, on a machine of six cores."""
        monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
        monkeypatch.setattr("os.cpu_count", lambda: 6)

        def run(translator, number):
            # So that what the command sets is taken back.
            monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "")
            monkeypatch.delenv("TF_NUM_INTRAOP_THREADS")
            monkeypatch.setattr(
                "keras_transformer.export.opening.open_translator", lambda *_: translator
            )
            return open_quietly(["runs/a"], "best", {}, batches_at_once=number)

        return run

    @pytest.mark.parametrize(("number", "threads"), [(1, None), (2, "3"), (8, "1")])
    def test_they_share_the_cores(self, opened, number, threads):
        assert opened(SimpleNamespace(batches_at_once=1), number).batches_at_once == number
        assert os.environ.get("TF_NUM_INTRAOP_THREADS") == threads

    def test_what_computes_one_batch_at_a_time(self, opened):
        with pytest.raises(ValueError, match=r"`batches_at_once` must be 1 with.*Received: 2"):
            opened(SimpleNamespace(), 2)

    def test_none_is_refused(self, opened):
        with pytest.raises(ValueError, match=r"at least 1\. Received: batches_at_once=0"):
            opened(SimpleNamespace(batches_at_once=1), 0)
