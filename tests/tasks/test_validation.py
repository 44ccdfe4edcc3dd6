"""What a run is validated on: the pairs that fit the model, and the same ones for loss and BLEU."""

from pathlib import Path
from unittest import mock

import pytest

from keras_transformer import (
    DataConfig,
    RunConfig,
    Transformer,
    TransformerConfig,
    ValidationConfig,
)
from keras_transformer.data.corpora import open_corpus
from keras_transformer.runs.run import open_run
from keras_transformer.tasks import train
from keras_transformer.tasks.translation import Translation
from keras_transformer.tasks.translation.inputs import training_batches, validation_batches
from keras_transformer.training.strategy import ONE_DEVICE, Replicas

LONG = " ".join(["the dog sees the cat"] * 4)
# Of the first three pairs none fits: too long on either side, and empty.
VALID = [
    (LONG, "der Hund"),
    ("the dog", LONG),
    ("", "die Katze"),
    ("the cat", "die Katze"),
    ("a dog", "ein Hund"),
    ("a cat", "eine Katze"),
]
FITTING = VALID[3:]


@pytest.fixture
def prepared(tmp_path):
    """Makes a run, without training it, that is validated on some pairs or by an option."""

    def prepare(valid, bleu_sentences=2):
        if not isinstance(valid, str):
            text = "".join(f"{source}\t{target}\n" for source, target in valid)
            valid = str(tmp_path / "valid.tsv")
            Path(valid).write_text(text, "utf-8")
        config = RunConfig(
            TransformerConfig(
                vocab_size=300, num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=20
            ),
            data=DataConfig("phrasebook:train:400", valid, batch_tokens=64),
            validation=ValidationConfig(bleu_sentences=bleu_sentences),
        )
        task = Translation()
        task.check(config)
        return task.prepare(tmp_path / "run", config, task.fingerprints(config), None)

    return prepare


def rows_of(batches):
    return sum(len(labels) for _, labels in batches.epoch(0))


def test_loss_and_bleu_are_of_the_pairs_that_fit(prepared, capsys):
    run = prepared(VALID)
    capsys.readouterr()
    validation = Translation().validation(run)
    expected = "kept 3 of 6 pairs (dropped: 1 empty, 2 longer than 20 tokens)"
    assert capsys.readouterr().out.endswith(f"{expected}\n")
    assert rows_of(validation_batches(run, validation.corpus, ONE_DEVICE)) == len(FITTING)
    scoring = validation.scoring(Transformer(run.config.model))
    assert list(zip(scoring.sources, scoring.references, strict=True)) == FITTING[:2]


def test_no_bleu(prepared):
    run = prepared(VALID, bleu_sentences=0)
    validation = Translation().validation(run)
    assert validation.scoring(Transformer(run.config.model)) is None
    assert "kept 3 of 6 pairs" in validation.summary


def test_no_pair_fits(prepared, tmp_path):
    """An error before there is a run, and so long before the first epoch has passed."""
    with pytest.raises(
        ValueError, match=r"No pair of .*valid\.tsv is left to validate on; .*`max_length`.*kept 0"
    ):
        prepared(VALID[:3])
    assert not (tmp_path / "run").exists()


def test_a_worker_without_a_pair(prepared):
    """One pair for two workers: the other one takes part with no rows."""
    run = prepared(FITTING[:1])
    corpus = Translation().validation(run).corpus
    rows = [
        rows_of(validation_batches(run, corpus, Replicas("a worker", worker=index, workers=2)))
        for index in range(2)
    ]
    assert rows == [1, 0]
    assert rows_of(training_batches(run, ONE_DEVICE)) > 0


def test_a_part_of_the_corpus_is_held_out(prepared, tmp_path, capsys):
    """It is in the run directory, where a second start and a user find it."""
    run = prepared("held_out:20", bleu_sentences=100)
    assert "Holding 20 of 400 pairs of phrasebook:train:400 out" in capsys.readouterr().out
    assert sorted(run.data) == ["train"]
    run.write()
    held_out = list(open_corpus(run.path / "held_out", "en", "de"))
    assert len(held_out) == 20
    assert {*held_out} < {*open_corpus("phrasebook:train:400", "en", "de")}
    run = open_run(run.path)
    validation = Translation().validation(run)
    assert "of 20 pairs" in validation.summary
    scoring = validation.scoring(Transformer(run.config.model))
    assert {*zip(scoring.sources, scoring.references, strict=True)} <= {*held_out}
    batches = training_batches(run, ONE_DEVICE)
    read = list(batches.corpus)
    assert len(read) == 380
    assert batches.pairs == 380, "what the length of an epoch is estimated from"
    assert {line for pair in read for line in pair}.isdisjoint(
        line for pair in held_out for line in pair
    )
    rows_of(batches)
    assert "of 380 pairs" in batches.filter_summary
    # Another start goes on with the same.
    with mock.patch.object(Transformer, "fit"):
        assert train(run.path, run.config).config == run.config
    assert list(open_corpus(run.path / "held_out", "en", "de")) == held_out
