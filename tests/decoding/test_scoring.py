"""Force decoding against a softmax in NumPy, and against the scores of searches."""

import numpy as np
import pytest
from keras import ops
from plain_search import SOURCE, as_arrays, log_softmax, transformer_in_python

from keras_transformer.decoding import beam_search
from keras_transformer.decoding.scoring import shift_right, token_log_probs
from keras_transformer.text.vocabulary import BOS_ID

pytestmark = pytest.mark.any_backend

TARGET = np.array([[7, 5, 5, 3], [6, 3, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0]], "int32")


def test_shift_right():
    expected = [[2, 7, 5, 5], [2, 6, 3, 0], [2, 3, 0, 0], [2, 0, 0, 0]]
    for target in (TARGET, ops.convert_to_tensor(TARGET), TARGET.astype("int64")):
        assert ops.convert_to_numpy(shift_right(target)).tolist() == expected
    assert ops.convert_to_numpy(shift_right(TARGET[:, :1])).tolist() == [[BOS_ID]] * 4


@pytest.mark.parametrize(("dtype", "scale"), [("float32", 2), ("float32", 300), ("bfloat16", 2)])
def test_log_probs_of_tokens(dtype, scale):
    logits = np.random.default_rng(0).normal(size=(4, 4, 9)) * scale
    logits = ops.cast(ops.convert_to_tensor(logits.astype("float32")), dtype)
    found = ops.convert_to_numpy(token_log_probs(logits, ops.convert_to_tensor(TARGET)))
    assert found.dtype == "float32"
    log_probs = log_softmax(ops.convert_to_numpy(ops.cast(logits, "float32")))
    for i, row in enumerate(TARGET):
        for position, token in enumerate(row):
            expected = log_probs[i, position, token] if token else 0.0
            np.testing.assert_allclose(found[i, position], expected, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")
def test_is_what_a_search_says_of_its_hypotheses():
    model, _ = transformer_in_python(seed=187)
    state = model.start_decoding(SOURCE, 8, beam_size=4)
    limits = ops.convert_to_tensor(np.array([8, 6, 8, 5], "int32"))
    options = dict(beam_size=4, num_hypotheses=2)
    ids, log_probs, _ = as_arrays(beam_search(model.decode_step, state, limits, 8, **options))
    for i in range(2):
        target = ids[:, i]
        logits = model({"source": SOURCE, "target": shift_right(target)})
        found = ops.convert_to_numpy(token_log_probs(logits, target))
        assert not found[target == 0].any()
        np.testing.assert_allclose(found.sum(axis=1), log_probs[:, i], rtol=1e-4)
