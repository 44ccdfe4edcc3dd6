"""What cannot be imported is told by name, nothing is written, and no file is executed."""

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import yaml
from marian_files import write_marian

from keras_transformer.commands.main import main
from keras_transformer.importing.marian import read_marian
from keras_transformer.importing.runs import import_run
from keras_transformer.importing.source import open_source
from keras_transformer.importing.tensors import open_npz
from keras_transformer.importing.verification import require_verifiable


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


def test_vocabularies_that_no_file_tells_apart(tmp_path, models):
    """In the order of the alphabet, the target's may come first."""
    write_marian(tmp_path / "marian", models, separate=True)
    (tmp_path / "marian" / "decoder.yml").unlink()
    refused(
        tmp_path / "marian", ValueError, r"decoder\.yml that lists.*vocab\.src\.yml, vocab\.trg"
    )


def test_one_vocabulary_and_no_options_of_the_decoder(tmp_path, models):
    write_marian(tmp_path / "marian", models)
    (tmp_path / "marian" / "decoder.yml").unlink()
    run = import_run(tmp_path / "marian", tmp_path / "run", "en", "de")
    assert run.config.model.source_vocab_size is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabs": []}, r"name vocabularies of one source.*decoder\.yml.*Received: none"),
        ({"vocabs": [1, 2]}, "name vocabularies of one source.*Received: 1, 2"),
        ({"models": []}, "name one model.*Received: none"),
        ({"models": ["a.npz", "b.npz"]}, r"ensemble one by one. Received: a\.npz, b\.npz"),
        ({"models": "model.npz"}, "must tell models"),
        ({"models": ["../model.npz"]}, r"files within it.*Received: \.\./model\.npz"),
        ({"vocabs": ["/etc/hosts.yml"]}, r"files within it.*Received: /etc/hosts\.yml"),
        ({"beam-size": "6"}, "beam-size of the type int.*Received: '6'"),
        ({"normalize": "yes"}, "normalize of the type float.*Received: 'yes'"),
        ({"max-length": [60]}, r"max-length of the type int.*Received: \[60\]"),
    ],
)
def test_options_of_marians_decoder_of_other_types(changes, message, tmp_path, models):
    write_marian(tmp_path / "marian", models)
    path = tmp_path / "marian" / "decoder.yml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))
    refused(tmp_path / "marian", ValueError, message)


def test_an_option_that_is_null_is_not_told(tmp_path, models):
    write_marian(tmp_path / "marian", models)
    path = tmp_path / "marian" / "decoder.yml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "beam-size": None}))
    assert read_marian(tmp_path / "marian").decoding.beam_size == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_beams": "4"}, "num_beams of the type int.*Received: '4'"),
        ({"num_beams": True}, "num_beams of the type int.*Received: True"),
        ({"max_length": 8.5}, "max_length of the type int"),
        ({"length_penalty": []}, "length_penalty of the type float"),
        ({"bad_words_ids": [3]}, r"lists of ids for bad_words_ids.*Received: \[3\]"),
        ({"bad_words_ids": 3}, "bad_words_ids of the type list"),
        ({"do_sample": 1}, "do_sample of the type bool"),
    ],
)
def test_options_of_generate_of_other_types(changes, message, folder):
    change_json(folder / "generation_config.json", **changes)
    refused(folder, ValueError, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dropout": "0.1"}, "dropout of the type float"),
        ({"d_model": True}, "must tell d_model"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings of the type bool"),
        ({"activation_function": ["relu"]}, "activation_function 'relu' or"),
        ({"keras_transformer": [1]}, "remove `keras_transformer` from its config.json"),
        ({"keras_transformer": {"d_model": "16"}}, "remove `keras_transformer`"),
        ({"keras_transformer": {"d_model": 10**12}}, "remove `keras_transformer`"),
    ],
)
def test_options_of_a_model_of_other_types(changes, message, folder):
    change_json(folder / "config.json", **changes)
    refused(folder, ValueError, message)


def test_other_types_in_vocabulary_and_tokenizer(folder):
    change_json(folder / "tokenizer_config.json", source_lang=1)
    refused(folder, ValueError, "source_lang of the type str")
    change_json(folder / "tokenizer_config.json", source_lang="en", unk_token={"content": 7})
    refused(folder, ValueError, "content of the type str")
    change_json(folder / "tokenizer_config.json", unk_token=...)
    change_json(folder / "vocab.json", more="7")
    refused(folder, ValueError, "whole numbers for ids.*Received: '7'")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder_ffn_dim": 10**9, "decoder_ffn_dim": 10**9}, "in the shape"),
        ({"d_model": 10**9}, "in the shape"),
        ({"encoder_layers": 10**9}, r"weights model\.encoder\.layers\.2"),
        ({"max_position_embeddings": 10**12}, "at most 65,536 positions"),
        ({"vocab_size": 10**12}, "a vocabulary of the 1000000000000 pieces"),
    ],
)
def test_sizes_for_which_no_machine_has_the_memory(changes, message, folder, monkeypatch):
    def build(config):
        raise AssertionError("no model is made before its weights are known to be there")

    monkeypatch.setattr("keras_transformer.importing.runs.Transformer", build)
    change_json(folder / "config.json", **changes)
    refused(folder, ValueError, message)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "[" * 100_000, "hold JSON in config"),
        ("decoder.yml", "[" * 10_000, "options in YAML"),
        ("decoder.yml", "models: 2024-13-45", "options in YAML.*month"),
    ],
)
def test_texts_that_end_the_parser(name, content, message, folder, tmp_path, models):
    if name == "decoder.yml":
        folder = tmp_path / "marian"
        write_marian(folder, models)
    (folder / name).write_text(content)
    refused(folder, ValueError, message)


def test_zips_of_odd_entries(tmp_path, models):
    """The folder itself as an entry; a stream that is broken; more zeros than a disk holds."""
    write_marian(tmp_path / "marian", models)
    path = tmp_path / "marian.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("./", "")
        for file in sorted((tmp_path / "marian").iterdir()):
            archive.write(file, file.name)
        start = archive.getinfo("decoder.yml").header_offset + 30 + len("decoder.yml")
    with open_source(path) as checkpoint:
        assert checkpoint.config.num_layers == 2
    content = bytearray(path.read_bytes())
    content[start : start + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    refused(path, ValueError, "a whole zip; copy it anew")


def test_a_zip_that_would_fill_the_disk_or_the_memory(tmp_path, monkeypatch):
    """Zeros in a zip, and in a compressed .npz, which NumPy would unpack array by array."""
    monkeypatch.setattr("keras_transformer.importing.archives._ALWAYS", 1000)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.npz", bytes(1_000_000))
    refused(tmp_path / "a.zip", ValueError, "archives of at most .*Received: 1,000,000 bytes")
    np.savez_compressed(tmp_path / "b.npz", Wemb=np.zeros(125_000))
    with pytest.raises(ValueError, match=r"archives of at most .*Received: 1,000,128 bytes"):
        open_npz(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        (None, FileNotFoundError, "`lines` must be a file of text"),
        (b" \n\n", ValueError, "which has no text"),
        (b"\xff\n", ValueError, "`lines` must be a file in UTF-8"),
    ],
)
def test_a_verification_that_cannot_be_is_told_first(lines, error, message, folder, tmp_path):
    path = tmp_path / "lines.en"
    if lines is not None:
        path.write_bytes(lines)
    arguments = ["--output", str(tmp_path / "run"), "--verify", str(path), "--traceback"]
    with pytest.raises(error, match=message):
        main(["import", str(folder), *arguments])
    assert not (tmp_path / "run").exists()


def test_what_is_no_marian_model_is_not_verified(tmp_path, models, folder):
    """Marian's own files, and those of another model of Hugging Face's."""
    write_marian(tmp_path / "marian", models)
    change_json(folder / "config.json", model_type="bert")
    for source in (tmp_path / "marian", folder):
        with pytest.raises(ValueError, match=f"leave --verify out for others. Received: {source}"):
            require_verifiable(source, __file__)
