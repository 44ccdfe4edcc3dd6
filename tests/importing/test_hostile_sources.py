"""What cannot be imported is told by name, nothing is written, and no file is executed."""

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from marian_files import write_marian

from keras_transformer.importing.runs import import_run


@pytest.fixture
def folder(marian_models, tmp_path):
    """A folder that can be imported, to be spoilt."""
    shutil.copytree(marian_models / "opus_mt", tmp_path / "opus_mt")
    return tmp_path / "opus_mt"


@pytest.fixture
def models(marian_models):
    return [(marian_models / "opus_mt" / f"{side}.spm").read_bytes() for side in SIDES]


SIDES = ("source", "target")


def refused(source, error, message):
    """Checks that an import ends in an error and leaves no trace."""
    output = source.parent / "runs" / "run"
    with pytest.raises(error, match=message):
        import_run(source, output, "en", "de")
    assert not output.parent.exists()


def change_json(path, **changes):
    content = {**json.loads(path.read_text("utf-8")), **changes}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not ...}), "utf-8")


def change_weights(folder, name, change):
    path = folder / "model.safetensors"
    weights = safetensors.numpy.load_file(path)
    weights[name] = change(weights[name])
    safetensors.numpy.save_file(weights, path)


@pytest.mark.parametrize(
    "name", ["vocab.json", "source.spm", "target.spm", "config.json", "model.safetensors"]
)
def test_a_missing_file(name, folder):
    (folder / name).unlink()
    refused(folder, ValueError, r"config\.json" if name == "config.json" else f"with {name}")


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.json", "source.spm", "config.json"])
def test_a_file_that_was_cut(name, folder):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    refused(folder, ValueError, "copy it anew. Received")


def test_a_vocabulary_of_another_size(folder):
    pieces = json.loads((folder / "vocab.json").read_text("utf-8"))
    change_json(folder / "vocab.json", more=len(pieces))
    refused(folder, ValueError, rf"the {len(pieces)} pieces .* Received: {len(pieces) + 1} pieces")
    change_json(folder / "config.json", vocab_size=len(pieces) + 1)
    refused(folder, ValueError, rf"shape \({len(pieces) + 1}, 16\).*Received: \({len(pieces)}, 16")


def test_ids_that_are_there_twice(folder):
    change_json(folder / "vocab.json", more=5)
    refused(folder, ValueError, "one for each id")


def test_weights_that_are_not_finite(folder):
    change_weights(folder, "model.decoder.layers.1.fc2.bias", lambda array: array * np.nan)
    refused(folder, ValueError, r"finite weights.*layers\.1\.fc2\.bias")


def test_weights_that_nobody_asked_for(folder):
    change_json(folder / "config.json", decoder_layers=1)
    refused(folder, ValueError, r"no others.*model\.decoder\.layers\.1")


def test_weights_that_are_missing(folder):
    change_json(folder / "config.json", encoder_layers=3)
    refused(folder, ValueError, r"must hold the weights model\.encoder\.layers\.2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bart"}, "model_type 'marian'"),
        ({"activation_function": "gelu_new"}, "activation_function 'relu' or"),
        ({"decoder_ffn_dim": 7}, "decoder_ffn_dim 24"),
        ({"normalize_before": True}, "normalize_before"),
        ({"d_model": ...}, "must tell d_model"),
        ({"pad_token_id": 10_000}, "special ids"),
    ],
)
def test_another_model(changes, message, folder):
    change_json(folder / "config.json", **changes)
    refused(folder, ValueError, message)


class Malicious:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "executed")


def test_a_pickle_with_code_is_not_executed(folder, models, tmp_path):
    (folder / "model.safetensors").unlink()
    traces = tmp_path / "trace"
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Malicious(traces)))
    # Without PyTorch it is not read at all.
    refused(folder, (ValueError, ImportError), "whole files of weights|needs PyTorch")
    write_marian(tmp_path / "marian", models)
    arrays = {"special:model.yml": np.array([Malicious(traces)], object)}
    np.savez(tmp_path / "marian" / "model.npz", **arrays)
    refused(tmp_path / "marian", ValueError, "whole files of weights")
    assert not traces.exists()


def test_a_zip_that_would_write_elsewhere(tmp_path, models):
    write_marian(tmp_path / "marian", models)
    for name in ("../outside.txt", "/outside.txt", "folder/../../outside.txt", "C:\\outside.txt"):
        with zipfile.ZipFile(tmp_path / "marian.zip", "w") as archive:
            archive.write(tmp_path / "marian" / "decoder.yml", "decoder.yml")
            archive.writestr(name, "outside")
        refused(tmp_path / "marian.zip", ValueError, "stay within its folder.*outside")


def test_a_zip_that_was_cut(tmp_path, models):
    write_marian(tmp_path / "marian", models)
    shutil.make_archive(tmp_path / "marian", "zip", tmp_path / "marian")
    path = tmp_path / "marian.zip"
    path.write_bytes(path.read_bytes()[:-2000])
    refused(path, ValueError, "whole zip")
    path = tmp_path / "marian" / "model.npz"
    path.write_bytes(path.read_bytes()[:-2000])
    refused(tmp_path / "marian", ValueError, "whole files of weights")


def test_no_source_at_all(tmp_path):
    refused(tmp_path / "nothing", FileNotFoundError, "a folder or a zip")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", ValueError, r"config\.json, as Hugging Face.*with nothing")


def test_what_there_is_stays(folder, tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(FileExistsError, match="`output` must not exist"):
        import_run(folder, tmp_path / "run")


def test_languages(folder, marian_models, tmp_path):
    change_json(folder / "tokenizer_config.json", source_lang=None)
    with pytest.raises(ValueError, match="`source_language` must be given"):
        import_run(folder, tmp_path / "run")
    multilingual = marian_models / "multilingual"
    with pytest.raises(ValueError, match="one of those that the model knows: nds, fra, deu"):
        import_run(multilingual, tmp_path / "run", target_language="xx")
    assert not (tmp_path / "run").exists()
