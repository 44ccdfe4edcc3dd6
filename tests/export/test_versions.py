"""Numbered versions of an export: which comes next, and which is meant."""

import pytest

from keras_transformer.export.versions import find_version, version_path


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
