"""Hard attention is refused where its reward would not be that of a whole batch."""

from types import SimpleNamespace

import pytest

from keras_transformer import DataConfig, RunConfig, TrainingConfig
from keras_transformer.config import RecurrentConfig
from keras_transformer.tasks.translation.task import Translation
from keras_transformer.training.strategy import Replicas


def configuration(alignment="hard", attention="bahdanau", **options):
    return RunConfig(
        RecurrentConfig(attention=attention, alignment=alignment),
        data=DataConfig("phrasebook:train:200", weights=options.pop("weights", False)),
        training=TrainingConfig(**options),
    )


@pytest.mark.parametrize("options", [{"weights": True}, {"micro_batches": 2}])
def test_weights_and_micro_batches(options):
    with pytest.raises(ValueError, match=r"`alignment` must be another than 'hard'.*Received"):
        Translation().check(configuration(**options))
    Translation().check(configuration("gumbel", **options))
    Translation().check(configuration(attention="none", **options))
    Translation().check(configuration())


@pytest.mark.parametrize("shared", [{"local": 2}, {"workers": 2}])
def test_replicas(shared):
    """Refused before there are batches, and so before the first step."""
    run = SimpleNamespace(config=configuration())
    with pytest.raises(ValueError, match=r"--strategy none.*replicas=2, micro_batches=1"):
        Translation().batches(run, Replicas("two of them", **shared))


def test_micro_batches_that_memory_asks_for():
    run = SimpleNamespace(config=configuration(micro_batches=4))
    with pytest.raises(ValueError, match=r"replicas=1, micro_batches=4"):
        Translation().batches(run, Replicas("one"))
