"""Imported models do what transformers does with them; what it said is in the archive."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from make_marian_models import KINDS, LINES, MOST_TOKENS, lines_of
from thorough import number

from keras_transformer.commands.main import main
from keras_transformer.commands.train import parse_training_command
from keras_transformer.data.corpora import Corpus
from keras_transformer.decoding.scoring import shift_right
from keras_transformer.export.opening import open_translator
from keras_transformer.tasks import task_of
from keras_transformer.tasks.translation.validation import TranslationValidation
from keras_transformer.training.preparation import open_or_prepare
from keras_transformer.training.strategy import ONE_DEVICE
from keras_transformer.translation.opening import open_runs

kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_tokens_are_those_of_marian_tokenizer(kind, imported):
    """Of scripts, characters without a piece, invisible ones, and empty lines."""
    found = imported(kind)
    ids = found.run.source_tokenizer.tokenize(lines_of(kind)).to_tensor()
    np.testing.assert_array_equal(ids, found.source)


@kinds
def test_logits_with_a_given_target(kind, imported):
    found, rows = imported(kind), slice(3)
    target = found.target_ids[found.expected["target"]].astype("int32")
    inputs = {"source": found.source[rows], "target": shift_right(target)}
    logits = np.asarray(found.model(inputs, training=False))[:, :, found.target_ids]
    difference = np.abs(logits - found.expected["logits"])
    assert difference[:, :, :-1].max() < 1e-4
    # That of the padding counts in the softmax unless it is said not to.
    assert difference[:, :, -1].max() == (1e4 if kind == "tc_big" else 0)


# Graphs take seconds to trace: those of all kinds only in a thorough run.
SEARCHES = [(kind, "beam", 4) for kind in [*KINDS][: number(2, len(KINDS))]]
SEARCHES += [(kind, "greedy", 1) for kind in [*KINDS][: number(0, len(KINDS))]]


@pytest.mark.parametrize(("kind", "name", "beam_size"), SEARCHES)
def test_translations_and_their_scores(kind, name, beam_size, imported):
    found = imported(kind)
    graph = open_runs(found.run, options={"beam_size": beam_size}).graph
    rows = len(LINES)
    result = graph.search(
        found.source, max_tokens=tf.fill([rows], MOST_TOKENS), alpha=tf.fill([rows], 1.0)
    )
    ids = [[i for i in row if i] for row in result.ids[:, 0].numpy().tolist()]
    expected = found.translations(name)
    assert ids == expected
    if name == "beam":
        np.testing.assert_allclose(
            result.scores[:, 0], found.expected["beam_scores"], rtol=1e-4, atol=1e-5
        )
    texts = found.run.target_tokenizer.detokenize(tf.ragged.constant(expected, tf.int32)).numpy()
    # They leave out what is unknown; here it can be seen.
    texts = [f" {text.decode()} ".replace(" \u2047 ", "").strip() for text in texts]
    # With separate vocabularies they take the target's padding for text.
    expected = [text.decode().replace("<pad>", "") for text in found.expected[f"{name}_text"]]
    assert texts == [text.strip() for text in expected]


def test_how_it_is_searched_by_default(imported):
    decoding = imported("unequal").run.config.decoding
    assert decoding.beam_size == 4
    assert (decoding.length_normalization, decoding.length_penalty) == ("length", 1.0)
    assert decoding.max_extra_tokens == MOST_TOKENS + 1
    assert (decoding.min_length, decoding.no_repeat_ngram) == (0, 2)
    vocabulary = json.loads((imported("unequal").run.path / "run.json").read_text())
    assert vocabulary["config"]["data"]["source_language"] == "eng"
    assert decoding.banned_pieces[0] == "<unk>"
    assert len(decoding.banned_pieces) == 2


@pytest.mark.parametrize("kind", ["separate", "multilingual"][: number(1, 2)])
def test_verification(kind, imported, marian_models, tmp_path):
    """With transformers where it is: what is the same, and a model that is another."""
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    from keras_transformer.importing.verification import verify

    lines = tmp_path / "lines.en"
    lines.write_text("dog " * 500, "utf-8")
    with pytest.raises(ValueError, match=r"at most 64 tokens.*Received: 1 in .*all longer"):
        verify(imported(kind).run, marian_models / kind, lines)
    lines.write_text("\n".join(line for line in LINES if "\t" not in line), "utf-8")
    run = imported(kind).run
    told = verify(run, marian_models / kind, lines)
    assert told.startswith("5 lines beside transformers: 0 of other tokens, logits that differ by ")
    assert told.endswith(", 0 with another token first")
    other = "opus_mt" if kind == "separate" else "tc_big"
    with pytest.raises(ValueError, match="do not use it"):
        verify(run, marian_models / other, lines)


def test_a_tag_is_for_the_whole_text(imported):
    run = imported("multilingual").run
    tags, graph = run.source_tokenizer.tags, open_runs(run).graph
    pieces = graph._split(tf.constant([">>deu<< A dog.\nA cat.\n", "A dog.\nA cat.", "\n"]))
    firsts = [ids[0] for ids in pieces.ids.to_list()]
    assert firsts == [tags["deu"]] * 2 + [tags["fra"]] * 2


def test_what_begins_with_it_searches_as_it_does(imported, tmp_path):
    """But for what is asked for; and goes on by the same command."""
    start = imported("multilingual").run
    for given, expected in (
        ([], start.config.decoding),
        (
            ["--decoding.beam_size=2"],
            dataclasses.replace(start.config.decoding, beam_size=2),
        ),
    ):
        output, config, _, init_from, choices, _ = parse_training_command(
            [
                *(f"--output={tmp_path / f'run{len(given)}'}", f"--init-from={start.path}"),
                *("--data.train=phrasebook:train:300", *given),
            ]
        )
        for _ in range(2):
            run = open_or_prepare(task_of(config), output, config, ONE_DEVICE, init_from, choices)
            assert run.config.decoding == expected


def test_a_language_that_is_left_open_is_told_before_the_training(imported):
    run = imported("multilingual").run
    decoding = dataclasses.replace(run.config.decoding, target_language=None)
    config = dataclasses.replace(run.config, decoding=decoding)
    corpus = Corpus("pairs", lambda: iter([("The dog.", "Der Hund.")]))
    with pytest.raises(ValueError, match=r"`target_language` must be one of .*Received: None"):
        TranslationValidation(dataclasses.replace(run, config=config), corpus)
    # Where nothing is translated, nothing has to be known.
    validation = dataclasses.replace(config.validation, bleu_sentences=0)
    config = dataclasses.replace(config, validation=validation)
    TranslationValidation(dataclasses.replace(run, config=config), corpus)


def test_exports_of_a_run_without_a_default_language(marian_models, tmp_path, capsys):
    folder = marian_models / "multilingual"
    main(["import", str(folder), "--output", str(tmp_path / "run")])
    arguments = ["export", str(tmp_path / "run"), "--target_language", "nds"]
    main([*arguments, "--format", "ctranslate2", "--output", str(tmp_path / "engine")])
    # It is the export's own, and still may be another one.
    for options, language in (({}, "nds"), ({"target_language": "fra"}, "fra")):
        graph = open_translator(tmp_path / "engine", options=options)._graph
        assert graph.tags.default == [graph.source_tokenizer.tags[language]]
    capsys.readouterr()
    main([*arguments, "--format", "huggingface", "--output", str(tmp_path / "hub")])
    assert "begin each with one, as in '>>nds<< A dog.'" in capsys.readouterr().out
