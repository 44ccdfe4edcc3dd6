"""A run that looks as if it were trained: its models are at random."""

from unittest import mock

from random_models import vary

from keras_transformer import DataConfig, DecodingConfig, RunConfig, TransformerConfig
from keras_transformer.models.families import make_model
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.runs.progress import Progress
from keras_transformer.tasks import train

SMALL = TransformerConfig(
    vocab_size=300, num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=12
)


def untrained_run(path, bleu=(20.0,), model=SMALL, **decoding):
    """Makes a run with a checkpoint for each BLEU; the weights are those of the epoch's seed."""
    config = RunConfig(
        model,
        data=DataConfig("phrasebook:train:200", valid=None),
        decoding=DecodingConfig(**decoding),
    )
    with mock.patch.object(TokenNormalizedModel, "fit"):
        run = train(path, config)
    for epoch, value in enumerate(bleu, start=1):
        varied = vary(make_model(model), seed=epoch)
        run.checkpoints.save(varied, Progress(step=epoch, epoch=epoch), {"val_bleu": value})
    return run
