"""How many operations a step of a search executes: bounds, so that none creep back.

A step of a small model on a CPU takes as long as TensorFlow's executor needs for its operations.
"""

import keras
import pytest
import tensorflow as tf
from step_operations import step_operations

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.decoding import search_translations


def operations(layers, **options):
    """Those of a step with so many layers, all of them and those that read a variable."""
    size = dict(vocab_size=2000, d_model=16, d_ff=32, num_heads=2, max_length=32)
    model = Transformer(TransformerConfig(num_layers=layers, **size))
    search = tf.function(
        lambda source: search_translations(
            [model], source, DecodingConfig(**options), banned_ids=[7]
        ),
        input_signature=[tf.TensorSpec([None, None], tf.int32)],
        autograph=False,
    )
    counts = step_operations(search.get_concrete_function())
    reads = counts.pop("ReadVariableOp")
    return counts, reads


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="its graphs are counted")
def test_a_step_stays_as_short_as_it_is():
    (one, reads), (two, more_reads) = operations(1), operations(2)
    # As many as a layer has variables: fourteen, of which three normalizations have two each.
    assert more_reads - reads == 14
    layer = two - one
    assert (layer["MatMul"], layer["BatchMatMulV2"], layer["Softmax"]) == (6, 4, 2)
    # No shape is computed in a layer: each is known, or asked for once a step.
    assert not {"Shape", "StridedSlice", "Pack", "Range", "GatherV2"} & set(layer)
    assert layer.total() <= 76, layer
    besides = one.total() - layer.total()
    assert besides <= 116, one
    # The token that is banned and the eos before the least length share one addition.
    unbanned, _ = operations(1, min_length=0)
    assert one.total() - unbanned.total() <= 4

    greedy, _ = operations(1, beam_size=1)
    assert greedy.total() - layer.total() <= 106, greedy
