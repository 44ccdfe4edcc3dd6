"""Numbered versions of an export: which comes next, and which is meant."""

import pytest
import tensorflow as tf

from keras_transformer.export.formats import MARKS
from keras_transformer.export.versions import find_export, find_version, version_path


@pytest.fixture
def versions(tmp_path):
    """Versions 2, 9 and 10, of which the last is of another kind, and what is no version."""
    for name in ("2", "9", "10", "v11", "notes"):
        (tmp_path / name).mkdir()
    for name in ("2", "9", "v11"):
        (tmp_path / name / "saved_model.pb").touch()
    (tmp_path / "10" / "model.bin").touch()
    return tmp_path


def test_the_next_version_is_one_more_than_the_highest_number(versions):
    assert version_path(versions) == versions / "11"
    assert version_path(str(versions)) == versions / "11"
    assert version_path(versions / "missing") == versions / "missing" / "1"
    assert not (versions / "missing").exists()


def test_a_version_by_its_number(versions):
    assert version_path(versions, 3) == versions / "3"
    with pytest.raises(FileExistsError, match=rf"`version` must not exist yet.*{versions}/9"):
        version_path(versions, 9)


def test_zeros_before_a_number(tmp_path):
    """As people name versions for TF Serving, which reads numbers."""
    padded = tmp_path / "00000001"
    padded.mkdir()
    (padded / "saved_model.pb").touch()
    assert find_version(tmp_path, "saved_model.pb") == padded
    assert find_export(tmp_path) == (padded, "saved_model")
    assert version_path(tmp_path) == tmp_path / "2"
    with pytest.raises(FileExistsError, match=f"must not exist yet.*{padded}$"):
        version_path(tmp_path, 1)
    (tmp_path / "\u0661\u0662").mkdir()  # Twelve, in digits that the server does not read.
    assert version_path(tmp_path) == tmp_path / "2"


@pytest.mark.parametrize("held", MARKS)
def test_versions_of_a_folder_have_one_format(tmp_path, held):
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / MARKS[held]).touch()
    for other in MARKS:
        if other == held:
            assert version_path(tmp_path, export_format=other) == tmp_path / "4"
            continue
        with pytest.raises(ValueError, match=f"folder for {other}.*{tmp_path}/3, which is {held}"):
            version_path(tmp_path, export_format=other)


@pytest.mark.parametrize("name", ["a[1]", "[ab]c", "[!x]", "a\\b"])
def test_names_with_which_tensorflow_loads_no_weights(tmp_path, monkeypatch, name):
    folder = tmp_path / name
    with pytest.raises(ValueError, match=r"no \[...\] and no backslash") as refused:
        version_path(folder, export_format="saved_model")
    assert str(folder / "1") in str(refused.value)
    # Other engines read a path as it is, and the folder may be that of the process.
    assert version_path(folder, export_format="tflite") == folder / "1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match="no backslash"):
        version_path("exports", export_format="saved_model")


@pytest.mark.parametrize("name", ["a[", "b]", "]a[", "a*", "a?", "{a}", "a b", "[", "\u00fc"])
def test_names_with_which_tensorflow_loads(tmp_path, name):
    assert version_path(tmp_path / name, export_format="saved_model").parent.name == name
    module = tf.Module()
    module.value = tf.Variable(2.0)
    tf.saved_model.save(module, tmp_path / name)
    assert tf.saved_model.load(tmp_path / name).value.numpy() == 2.0


@pytest.mark.parametrize("version", [0, -3])
def test_a_number_that_is_not_positive(tmp_path, version):
    with pytest.raises(ValueError, match=f"`version` must be positive.*version={version}"):
        version_path(tmp_path, version)


def test_the_highest_version_of_the_kind_is_found(versions):
    assert find_version(versions, "saved_model.pb") == versions / "9"
    assert find_version(str(versions), "model.bin") == versions / "10"
    assert find_version(versions / "2", "saved_model.pb") == versions / "2"
    assert find_version(versions, "other") is None
    assert find_version(versions / "missing", "saved_model.pb") is None
