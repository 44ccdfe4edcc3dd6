"""`keras-transformer backtranslate`: what it writes, and what it refuses."""

import pytest

from keras_transformer.commands import backtranslate
from keras_transformer.commands.main import run
from keras_transformer.export import opening
from keras_transformer.translation.results import Translation


class Shouting:
    batch_size = 2

    def nbest(self, lines, *, progress=False, start=0):
        return [[Translation(line.decode().upper(), -1.0)] for line in lines]


@pytest.fixture
def call(tmp_path, monkeypatch):
    asked = []

    def opened(*arguments, batches_at_once):
        asked.append((*arguments, batches_at_once))
        return Shouting()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(backtranslate, "open_quietly", opened)
    monkeypatch.setattr(opening, "languages_of", lambda path: ("de", "en"))
    (tmp_path / "news.de").write_text("ein Hund\neine Katze\n")

    def call(*options):
        run("backtranslate", ["a", "b", "--text=news.de", "--output=new/c", *options])
        return asked[-1]

    return call


def test_the_files_are_called_by_the_models_languages_or_those_that_are_given(call, tmp_path):
    options = {"sampling": True, "seed": 3}
    asked = call("--sampling", "--seed=3", "--batches_at_once=2")
    assert asked == (["a", "b"], "best", options, 2)
    assert (tmp_path / "new" / "c.de").read_text() == "ein Hund\neine Katze\n"
    assert (tmp_path / "new" / "c.en").read_text() == "EIN HUND\nEINE KATZE\n"
    call("--output=other", "--languages", "x", "y")
    assert sorted(path.name for path in tmp_path.glob("other.*")) == ["other.x", "other.y"]


def test_a_corpus_that_is_there_and_several_translations_are_refused(call, capsys):
    call()
    with pytest.raises(SystemExit) as error:
        call()
    assert error.value.code == 1
    assert "`output` must be the prefix of a corpus that is not there" in capsys.readouterr().err
    with pytest.raises(SystemExit) as error:
        call("--output=d", "--num_hypotheses=2")
    assert error.value.code == 2
    assert "--num_hypotheses: must be 1" in capsys.readouterr().err
