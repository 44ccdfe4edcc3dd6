"""A search that XLA has compiled for a few shapes, where the sentences fit into one of them.

A step of a small model, or of one sentence, takes as long as TensorFlow's executor needs for its
operations; XLA makes one program of a whole search. The price: it compiles for each shape anew,
which takes seconds, and computes with room for the longest sentence.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.config.search_shapes import SearchShape
from keras_transformer.decoding import Hypotheses
from keras_transformer.text.vocabulary import PAD_ID

Search = Callable[..., Hypotheses]


class CompiledSearch:
    """Searches in the smallest shape that the sentences fit into; as ever where there is none.

    Translations are the same either way, up to the rounding of their probabilities.

    Args:
        search: Takes source ids, int32 `[batch, length]`, and options, of which tensors are
            `[batch]` each.
        compiled: The same for one shape, compiled by XLA.
        shapes: For which shapes.

    Example:
        >>> def search(source, **options):
        ...     scores = tf.zeros([tf.shape(source)[0], 1])
        ...     return Hypotheses(source[:, None], scores, scores)
        >>> compiled = tf.function(search, jit_compile=True, autograph=False)
        >>> search = CompiledSearch(search, compiled, [SearchShape(1, 4)])
        >>> search(tf.constant([[5, 3]])).ids.numpy().tolist()
        [[[5, 3, 0, 0]]]
        >>> search(tf.constant([[5, 3], [6, 3]])).ids.numpy().tolist()
        [[[5, 3]], [[6, 3]]]
    """

    def __init__(self, search: Search, compiled: Search, shapes: Sequence[SearchShape]) -> None:
        # Of a branch that is not taken each operation costs its time, unless it is a call.
        self.search = tf.function(
            search,
            autograph=False,
            reduce_retracing=True,
            experimental_attributes={"_noinline": True},
        )
        self._compiled = compiled
        self._shapes = sorted(shapes, key=lambda shape: (shape.rows * shape.length, shape))

    def __call__(
        self, source: tf.Tensor, prefix: tf.Tensor | None = None, **options: Any
    ) -> Hypotheses:
        """Searches translations of source ids.

        Args:
            source: int32 `[batch, length]`, each row ending with eos and then padded.
            prefix: What translations begin with, of any length: with it nothing is compiled.
            **options: As the search takes them.
        """
        plain = functools.partial(self.search, source, prefix=prefix, **options)
        if prefix is not None:
            return plain()
        size = tf.shape(source)
        fits = [tf.reduce_all(size <= [shape.rows, shape.length]) for shape in self._shapes]
        # A search of nothing tells sizes only.
        first = tf.argmax(tf.stack([*fits, True]), output_type=tf.int32)
        which = tf.where(size[0] > 0, first, len(fits))
        branches = [functools.partial(self._in, shape, source, options) for shape in self._shapes]
        return Hypotheses(*tf.switch_case(which, [*branches, plain]))

    def _in(self, shape: SearchShape, source: tf.Tensor, options: dict[str, Any]) -> Hypotheses:
        """Searches in a shape, which has room left over."""
        count, length = tf.unstack(tf.shape(source))
        # The last sentence again and again ends with the last one, and costs no further step.
        rows = tf.minimum(tf.range(shape.rows), count - 1)
        columns = {
            name: tf.ensure_shape(tf.gather(option, rows), [shape.rows, *option.shape[1:]])
            if tf.is_tensor(option)
            else option
            for name, option in options.items()
        }
        padding = [[0, 0], [0, shape.length - length]]
        source = tf.pad(tf.gather(source, rows), padding, constant_values=PAD_ID)
        source = tf.ensure_shape(source, [shape.rows, shape.length])
        found = self._compiled(source, prefix=None, **columns)
        return Hypotheses(*(part[:count] for part in found))
