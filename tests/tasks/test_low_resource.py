"""The recipe for little data: three trainings and two translations, gone on with after a kill."""

import dataclasses
from unittest import mock
from unittest.mock import DEFAULT

import numpy as np
import pytest
import thorough
from random_models import vary

from keras_transformer.commands.train import parse_training_command
from keras_transformer.config import (
    DataConfig,
    DecodingConfig,
    RunConfig,
    TrainingConfig,
    TransformerConfig,
    ValidationConfig,
)
from keras_transformer.data.corpora import open_corpus
from keras_transformer.data.held_out import sentences_of
from keras_transformer.data.mixing import open_training_corpus
from keras_transformer.models.families import make_model
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.runs.progress import Progress
from keras_transformer.runs.run import exists, open_run
from keras_transformer.tasks import recipes, train
from keras_transformer.tasks.recipes import RECIPES, train_low_resource
from keras_transformer.translation.opening import open_runs
from keras_transformer.translation.results import Translation

CONFIG = RunConfig(
    TransformerConfig(
        vocab_size=300, num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=24
    ),
    data=DataConfig("phrasebook:train:60", valid="held_out:5", batch_tokens=512),
    training=TrainingConfig(epochs=1, warmup_steps=5),
    decoding=DecodingConfig(beam_size=1, max_extra_tokens=3),
    validation=ValidationConfig(bleu_sentences=0),
)
TAGGED = dataclasses.replace(
    CONFIG,
    data=dataclasses.replace(CONFIG.data, tags=True),
    decoding=dataclasses.replace(CONFIG.decoding, target_language="de"),
)


def untrained(path, config, *options):
    """Trains without a step."""
    if exists(path):
        return open_run(path)
    with mock.patch.object(TokenNormalizedModel, "fit"):
        run = train(path, config, *options)
    model = vary(make_model(config.model), seed=len(run.path.name))
    run.checkpoints.save(model, Progress(step=1, epoch=1), {})
    return run


def interrupted_after(calls, function):
    """Lets so many calls through, and ends the next one as Ctrl-C does."""
    return mock.Mock(side_effect=[*[DEFAULT] * calls, KeyboardInterrupt], wraps=function)


class Shouting:
    """Translates into capitals, and the language that was asked for."""

    batch_size = 8

    def __init__(self, run, options):
        self.config = dataclasses.replace(run.config.decoding, **(options or {}))
        self.origin = {"run": run.path.name}

    def nbest(self, lines, *, progress=False, start=0):
        texts = [line.decode() if isinstance(line, bytes) else line for line in lines]
        return [
            [Translation(f"{text.upper()} {self.config.target_language}", -1.0)] for text in texts
        ]

    def __call__(self, lines):
        return [best.text for [best] in self.nbest(lines)]


@pytest.mark.parametrize(
    ("config", "trainer", "open_run_to_translate"),
    thorough.number(
        [(TAGGED, untrained, Shouting)],
        [
            (TAGGED, untrained, Shouting),
            *(
                (config, train, lambda run, options: open_runs(run, options=options))
                for config in (TAGGED, CONFIG)
            ),
        ],
    ),
)
def test_each_stage_learns_from_those_before_and_what_is_done_stays(
    tmp_path, config, trainer, open_run_to_translate
):
    output, stages = tmp_path / "run", tmp_path / "run" / "stages"
    translators = {}

    def opened(run, *, options):
        assert run.path.name not in translators  # Nothing is translated twice.
        return translators.setdefault(run.path.name, open_run_to_translate(run, options))

    with (
        mock.patch.object(recipes, "train", trainer),
        mock.patch.object(recipes, "open_runs", opened),
    ):
        killed = interrupted_after(1, recipes._translate)
        with mock.patch.object(recipes, "_translate", killed), pytest.raises(KeyboardInterrupt):
            train_low_resource(output, config)
        assert (stages / "forward.de").exists()
        assert not (stages / "backward.en").exists()
        run = train_low_resource(output, config)
        weights = run.checkpoints.latest().load().get_weights()
        again = train_low_resource(output, config).checkpoints.latest().load().get_weights()
    for one_weight, other in zip(weights, again, strict=True):
        np.testing.assert_array_equal(one_weight, other)
    both, one = open_run(stages / "both"), open_run(stages / "one")
    assert [made.checkpoints.latest().epoch for made in (both, one, run)] == [1, 1, 1]
    assert [made.init_from for made in (both, one, run)] == [
        *(None, str(stages / "both"), str(stages / "one"))
    ]
    assert both.config.data.mix == {"reversed:phrasebook:train:60": 1.0}
    assert one.config.data.mix == {}
    assert run.config.data.mix == {f"{stages / side}": 1.0 for side in ("forward", "backward")}
    english, german = zip(*open_corpus("phrasebook:train:60", "en", "de"), strict=True)
    for prefix, sides in {
        "forward": (english, translators["one"](english)),
        "backward": (translators["both"](german), german),
    }.items():
        expected = [tuple(" ".join(s.split()) for s in pair) for pair in zip(*sides, strict=True)]
        assert list(open_corpus(str(stages / prefix), "en", "de")) == expected
    if config is TAGGED:
        asked = {name: one.config.target_language for name, one in translators.items()}
        assert asked == {"one": "de", "both": "en"}
    # What is held out is in no corpus of the last training.
    held_out = sentences_of(open_corpus(str(output / "held_out"), "en", "de"))
    assert len(held_out) == 10
    data = dataclasses.replace(run.config.data, tags=False)
    learned = open_training_corpus(data, open_corpus(str(output / "held_out"), "en", "de"))
    assert not any(sentence in held_out for pair in learned for sentence in pair)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": DataConfig(["a.en", "a.de"])}, r"`train` must be one name of a corpus"),
        (
            {
                "model": TransformerConfig(
                    vocab_size=300, source_vocab_size=300, tie_embeddings=False
                )
            },
            "`source_vocab_size` must be None",
        ),
    ],
)
def test_what_the_recipe_cannot_train_is_refused_before_anything_is_there(
    tmp_path, changes, message
):
    with pytest.raises(ValueError, match=message):
        train_low_resource(tmp_path / "run", dataclasses.replace(CONFIG, **changes))
    assert not (tmp_path / "run").exists()


def test_several_workers_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`strategy` must be that of one process"):
        train_low_resource(tmp_path / "run", CONFIG, "multi_worker")


def test_the_command_line_names_it():
    assert list(RECIPES) == ["low-resource"]
    command = ["--output=runs/a", "--recipe=low-resource"]
    assert parse_training_command(command).recipe == "low-resource"
    assert parse_training_command(command[:1]).recipe is None
