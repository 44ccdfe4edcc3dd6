"""What predicts is served like what translates, by its signatures; a run as its export would be."""

import dataclasses
import http.client
import json
from unittest import mock

import pytest
from endpoint_server import serve
from random_models import vary

from keras_transformer import BertConfig, DocumentsConfig, MaskedLMConfig
from keras_transformer.config.labelled import SpansConfig, SpansDataConfig
from keras_transformer.config.masked_lm import BERT_TRAINING
from keras_transformer.endpoint.models import open_model
from keras_transformer.export.predictions import export_predictions, open_predictor
from keras_transformer.models.token_normalized import TokenNormalizedModel
from keras_transformer.runs.progress import Progress
from keras_transformer.tasks import task_of, train

MODEL = BertConfig(vocab_size=220, num_layers=1, d_model=16, d_ff=24, num_heads=2, max_length=48)
ROWS = [
    ("Who sings?", "Anna sings in Köln. Paul sleeps."),
    ("Does it rain?", "It does not rain. " * 20),
    ("", ""),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that finds answers, at random."""
    data = SpansDataConfig("phrasebook:questions:train:40", None, stride=6, threshold=-1e6)
    with mock.patch.object(TokenNormalizedModel, "fit"):
        run = train(
            tmp_path_factory.mktemp("runs") / "answers", SpansConfig(model=MODEL, data=data), "none"
        )
    model = vary(task_of(run.config).model(run.config), seed=1)
    run.checkpoints.save(model, Progress(step=1, epoch=1), {"loss": 1.0})
    return run


def predict(address, name, rows):
    connection = http.client.HTTPConnection(address, timeout=30)
    instances = [{"question": question, "context": context} for question, context in rows]
    body = json.dumps({"instances": instances})
    connection.request("POST", f"/v1/models/{name}:predict", body)
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    return json.loads(reply.read())["predictions"]


def test_a_run_and_its_export_answer_as_in_python(run, tmp_path):
    export_predictions(run, tmp_path / "exported")
    models = [open_model(run.path), open_model(tmp_path / "exported")]
    assert [model.languages for model in models] == [None, None]
    assert [model.metadata["task"] for model in models] == ["spans", "spans"]
    for model in models:
        model.warm_up()
    expected = open_predictor(run.path)(*zip(*ROWS, strict=True))
    with serve(models) as address:
        for model in models:
            found = predict(address, model.name, ROWS)
            for one, other in zip(found, expected, strict=True):
                score = pytest.approx(other["score"], rel=1e-6, abs=1e-5)
                assert one == {**other, "score": score}


def test_options_of_the_search_are_refused(run):
    with pytest.raises(ValueError, match=r"that translate.*of the task 'spans', with beam_size"):
        open_model(run.path, options={"beam_size": 2})


def test_a_pre_training_has_nothing_to_serve(tmp_path):
    data = DocumentsConfig("phrasebook:train:50", None, length=48, batch_tokens=1024)
    training = dataclasses.replace(BERT_TRAINING, epochs=1)
    config = MaskedLMConfig(model=MODEL, data=data, training=training)
    with mock.patch.object(TokenNormalizedModel, "fit"):
        run = train(tmp_path / "run", config, "none")
    with pytest.raises(ValueError, match=r"one that translates.*of the task 'masked_lm'"):
        open_model(run.path)
