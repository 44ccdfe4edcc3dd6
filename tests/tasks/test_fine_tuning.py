"""What a run takes over from another one, and which runs do not fit together."""

import dataclasses
import types

import numpy as np
import pytest
from random_models import vary
from untrained_run import untrained_run

from keras_transformer import DecodingConfig, RunConfig, Transformer, TransformerConfig
from keras_transformer.config import TokenizerConfig
from keras_transformer.config.choices import Choices
from keras_transformer.data.corpora import Corpus
from keras_transformer.runs.run import open_run, resume_run
from keras_transformer.tasks.translation.choosing import choose_options
from keras_transformer.tasks.translation.fine_tuning import inherit_tokenizers, inherit_weights
from keras_transformer.text.tokenizer import SubwordTokenizer

OLD = TransformerConfig(
    vocab_size=60, num_layers=1, d_model=16, d_ff=32, num_heads=2, max_length=20
)
# Words of the old corpus with other endings, and a script that it did not have.
PAIRS = [("the cats saw the dogs", "die Katzen sahen"), ("the dogs ran", "კატა ზის")] * 10
CORPUS = Corpus("pairs", lambda: iter(PAIRS))


def old_run(config=OLD):
    """A run in memory, with one checkpoint at random."""
    lines = ["the cat sat", "the dog ran", "a cat saw a dog"]
    target = SubwordTokenizer.train(lines, 30)
    source = target if config.joint_vocabulary else SubwordTokenizer.train(lines, 29)
    sizes = {"vocab_size": 30, "source_vocab_size": config.source_vocab_size and 29}
    config = dataclasses.replace(config, **sizes)
    model = vary(Transformer(config), seed=1)
    checkpoint = types.SimpleNamespace(load=lambda: model)
    return types.SimpleNamespace(
        config=RunConfig(config),
        source_tokenizer=source,
        target_tokenizer=target,
        checkpoints=types.SimpleNamespace(best=lambda: checkpoint),
        model=model,
    )


def started_from(run, config):
    """The new model, its tokenizers, and the weights that it had of its own."""
    tokenizers = inherit_tokenizers(run, CORPUS, config, TokenizerConfig(), seed=0)
    model = Transformer(config)
    initial = [weight.numpy() for weight in model.weights]
    inherit_weights(model, run, *tokenizers)
    return model, tokenizers, initial


def config_of(run, **changes):
    return dataclasses.replace(run.config.model, **changes)


def test_a_run_on_disk(tmp_path):
    """Of two checkpoints the better one, with other dropout and another longest sentence."""
    run = untrained_run(tmp_path / "run", bleu=(30.0, 20.0))
    config = config_of(run, dropout=0.0, attention_dropout=0.0, max_length=30)
    model, tokenizers, _ = started_from(run, config)
    assert tokenizers == (run.source_tokenizer, run.target_tokenizer)
    expected = vary(Transformer(run.config.model), seed=1)
    for weight, other in zip(model.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(weight, other)


def test_a_run_without_checkpoint():
    run = old_run()
    run.checkpoints, run.path = types.SimpleNamespace(best=lambda: None), "runs/old"
    with pytest.raises(ValueError, match=r"must have a checkpoint.*Received: runs/old"):
        started_from(run, run.config.model)


def test_a_joint_vocabulary_grows():
    run = old_run()
    model, (source, target), initial = started_from(run, config_of(run, vocab_size=45))
    assert source is target
    assert target.vocab_size == 45
    assert target.pieces[:30] == run.target_tokenizer.pieces
    check_vectors(model.target_embedding, run.model.target_embedding, target, initial[0])
    for weight, other in zip(model.weights[1:], run.model.weights[1:], strict=True):
        np.testing.assert_array_equal(weight, other)


def check_vectors(embedding, old_embedding, tokenizer, initial):
    """Old vectors are copied; new ones are means of the letters' pieces, found by hand."""
    new, old = np.array(embedding.embeddings), np.array(old_embedding.embeddings)
    np.testing.assert_array_equal(new[: len(old)], old)
    known = tokenizer.pieces[: len(old)]
    means = 0
    for row in range(len(old), len(new)):
        piece = tokenizer.pieces[row]
        if not set(piece) <= set("".join(known)):
            np.testing.assert_array_equal(new[row], initial[row])
            continue
        means += 1
        spelled = [
            [known.index(part) for part in parts] for parts in splits(piece) if {*parts} <= {*known}
        ]
        assert any(np.allclose(new[row], old[ids].mean(axis=0), atol=1e-6) for ids in spelled)
    assert 0 < means < len(new) - len(old)


def splits(text):
    """All ways to cut a text in two or more."""
    for end in range(1, len(text)):
        yield [text[:end], text[end:]]
        yield from ([text[:end], *rest] for rest in splits(text[end:]))


def test_the_enlarged_model_reads_old_text_as_before():
    """Logits of the old pieces stay; the new ones come on top."""
    run = old_run()
    model, (tokenizer, _), _ = started_from(run, config_of(run, vocab_size=45))
    text = ["a cat sat"]
    old_ids = run.target_tokenizer.tokenize(text).to_tensor()
    np.testing.assert_array_equal(tokenizer.tokenize(text).to_tensor(), old_ids)
    inputs = {"source": old_ids, "target": old_ids}
    np.testing.assert_allclose(model(inputs)[..., :30], run.model(inputs), atol=1e-4)


def test_separate_vocabularies_and_output_vectors():
    run = old_run(dataclasses.replace(OLD, source_vocab_size=60, tie_embeddings=False))
    config = config_of(run, source_vocab_size=36, vocab_size=45)
    model, (source, target), _ = started_from(run, config)
    assert (source.vocab_size, target.vocab_size) == (36, 45)
    assert "კ" in target.pieces
    assert not {*"კატა"} & {*source.pieces[:30]}
    for name, tokenizer in (("target", target), ("output", target), ("source", source)):
        new, old = (getattr(m, f"{name}_embedding").embeddings for m in (model, run.model))
        assert new.shape[0] == tokenizer.vocab_size
        np.testing.assert_array_equal(new[: old.shape[0]], old)


@pytest.mark.parametrize("max_length", [12, 30])
def test_learned_positions_have_a_common_part(max_length):
    run = old_run(dataclasses.replace(OLD, positions="learned"))
    model, _, initial = started_from(run, config_of(run, max_length=max_length))
    for name in ("source_sum", "target_sum"):
        table = getattr(model, name).encoding.table
        common = min(20, max_length)
        old = np.array(getattr(run.model, name).encoding.table)
        np.testing.assert_array_equal(np.array(table)[:common], old[:common])
        index = [weight is table for weight in model.weights].index(True)
        np.testing.assert_array_equal(np.array(table)[common:], initial[index][common:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 2, "d_ff": 64}, "num_layers: 1 there, 2 now; d_ff: 32 there, 64 now"),
        ({"num_heads": 4}, "num_heads: 2 there, 4 now; key_dim: 8 there, 4 now"),
        ({"norm_first": True}, "norm_first: False there, True now"),
        ({"positions": "none"}, "positions: 'sinusoidal' there, 'none' now"),
        ({"vocab_size": 29}, "vocab_size: 30 there, 29 now"),
        ({"source_vocab_size": 30}, "source_vocab_size: None there, 30 now"),
    ],
)
def test_models_that_do_not_fit(changes, message):
    run = old_run()
    config = config_of(run, **changes)
    with pytest.raises(ValueError, match=f"`model` must be that of the run.*Received: {message}"):
        inherit_tokenizers(run, CORPUS, config, TokenizerConfig(), seed=0)
    with pytest.raises(ValueError, match=message):
        inherit_weights(Transformer(config), run, run.source_tokenizer, run.target_tokenizer)


def test_the_same_key_width_by_another_name():
    run = old_run()
    started_from(run, config_of(run, key_dim=8))


def test_decoding_is_taken_over_where_it_was_not_asked_for():
    old = DecodingConfig(
        **{"length_normalization": "length", "max_extra_tokens": 512, "min_length": 0},
        banned_pieces=("<unk>",),
        beam_size=6,
    )
    start = types.SimpleNamespace(config=RunConfig(OLD, decoding=old))
    asked = RunConfig(OLD, decoding=DecodingConfig(beam_size=2))
    for given, expected in (
        (frozenset({"decoding.beam_size"}), dataclasses.replace(old, beam_size=2)),
        (frozenset(), old),
        (None, asked.decoding),
    ):
        config, _ = choose_options(asked, Choices(given), 100, start)
        assert config.decoding == expected


def test_a_run_that_goes_on_has_what_it_took_over(tmp_path):
    run = untrained_run(tmp_path / "run", min_length=0)
    config = dataclasses.replace(run.config, decoding=DecodingConfig())
    with pytest.raises(ValueError, match=r"decoding\.min_length: 0 there, 1 now"):
        resume_run(open_run(run.path), config, Choices(frozenset()))
    dataclasses.replace(run, init_from="runs/other").write()
    assert resume_run(open_run(run.path), config, Choices(frozenset())).config == run.config
