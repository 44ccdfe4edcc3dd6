"""A recurrent model in each format: it translates there as the run does."""

import pytest
from stock_ops import STOCK, nodes_of
from untrained_run import untrained_run

from keras_transformer import RecurrentConfig
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.export.opening import open_translator
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.export.tflite import export_tflite
from keras_transformer.translation.opening import open_runs

CONFIG = RecurrentConfig(
    vocab_size=300,
    attention="luong",
    score="general",
    alignment="local_m",
    cell="lstm",
    embedding_dim=8,
    encoder_units=6,
    decoder_units=10,
    attention_units=5,
    max_length=24,
)
LINES = ["The dog sleeps.", "A small dog", ""]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    run = untrained_run(tmp_path_factory.mktemp("run") / "run", model=CONFIG, beam_size=3)
    return open_runs([run.path])


@pytest.mark.parametrize("export", [export_saved_model, export_tflite])
def test_it_translates_as_the_run(translator, export, tmp_path):
    expected = translator.nbest(LINES)
    assert len({best.log_prob for best, *_ in expected}) == 3
    path = export(translator, tmp_path)
    if export is export_saved_model:
        assert {node.op for node in nodes_of(path)} <= {*STOCK}
    found = open_translator([path]).nbest(LINES)
    for [best], [expected_best, *_] in zip(found, expected, strict=True):
        assert best.text == expected_best.text
        assert best.log_prob == pytest.approx(expected_best.log_prob, rel=1e-4)


def test_ctranslate2_has_no_such_model(translator, tmp_path):
    with pytest.raises(ValueError, match=r"Transformers alone.*Received: a Recurrent"):
        export_ctranslate2(translator, tmp_path / "exports")
    assert not (tmp_path / "exports").exists()
