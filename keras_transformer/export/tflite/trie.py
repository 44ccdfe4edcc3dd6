"""Texts and their numbers as a trie of characters, in which all places of a text step at once."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.tables import CodePointTable, PairTable
from keras_transformer.export.tflite.vectors import shifted

# Takes nodes and letters; returns the nodes that follow, where a text ends, and its number there.
Descend = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor, tf.Tensor]]


class Trie:
    """A trie of characters; a node for the beginning of each text, and one for nowhere.

    Args:
        numbers: Of the texts; none is negative.

    Attributes:
        nowhere: The node that no text leads to, and out of which none does.
        no_letter: What stands for a character that is in no text.

    Example:
        >>> trie = Trie({"a": 7, "do": 8})
        >>> letters, node = trie.letters(tf.constant([*map(ord, "do")])), trie.node("")
        >>> for letter in letters:
        ...     node = trie.children(node, letter)
        >>> int(tf.gather(trie.numbers, node))
        8
    """

    def __init__(self, numbers: Mapping[str, int]):
        letters = {letter: i for i, letter in enumerate(sorted({*"".join(numbers)}))}
        self.no_letter = len(letters)
        self._letters = CodePointTable({ord(one): i for one, i in letters.items()}, len(letters))
        nodes = {"": 0}
        for text in numbers:
            for end in range(1, len(text) + 1):
                nodes.setdefault(text[:end], len(nodes))
        self._nodes, self.nowhere = nodes, len(nodes)
        self._children = PairTable(
            {(nodes[text[:-1]], letters[text[-1]]): node for text, node in nodes.items() if text},
            len(nodes) + 1,
            len(letters) + 1,
            self.nowhere,
        )
        self.numbers = self.of_nodes(numbers, np.int32(-1))

    def node(self, text: str) -> int:
        """Returns the node that a text leads to."""
        return self._nodes.get(text, self.nowhere)

    def of_nodes(self, values: Mapping[str, Any], default: np.generic) -> np.ndarray:
        """Returns the value of the text that leads to each node, or the default, `[nodes]`."""
        found = np.full(len(self._nodes) + 1, default)
        for text, value in values.items():
            found[self._nodes[text]] = value
        return found

    def letters(self, codes: tf.Tensor) -> tf.Tensor:
        """Returns what stands for each code point, int32."""
        return self._letters.lookup(codes)

    def children(self, nodes: tf.Tensor, letters: tf.Tensor) -> tf.Tensor:
        """Steps from each node by a letter, int32 of the shape of both."""
        return self._children.lookup(nodes, letters)

    def descend(
        self, nodes: tf.Tensor, letters: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Steps as `children` does; returns as well where a text ends, and its number there."""
        nodes = self.children(nodes, letters)
        numbers = tf.gather(self.numbers, nodes)
        return nodes, numbers >= 0, numbers


def longest_matches(
    nodes: tf.Tensor, letters: tf.Tensor, nowhere: int, no_letter: int, descend: Descend
) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the longest text of a trie at each place, where all places step down it at once.

    Args:
        nodes: Where each place begins, int32 `[places]`.
        letters: Those of the text, int32 `[places]`.
        nowhere: The node that leads to no other.
        no_letter: What no text has; it counts as what follows the last place.
        descend: Steps by a letter.

    Returns:
        The number of the text, -1 where there is none, and how many letters it takes, int32
        `[places]`.

    Example:
        >>> trie = Trie({"a": 7, "an": 8})
        >>> letters = trie.letters(tf.constant([*map(ord, "bana")]))
        >>> root = tf.fill([4], trie.node(""))
        >>> found = longest_matches(root, letters, trie.nowhere, trie.no_letter, trie.descend)
        >>> [x.numpy().tolist() for x in found]
        [[-1, 8, -1, 7], [0, 2, 0, 1]]
    """

    def any_left(depth: tf.Tensor, nodes: tf.Tensor, *found: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(nodes != nowhere)

    def step(
        depth: tf.Tensor,
        nodes: tf.Tensor,
        rest: tf.Tensor,
        numbers: tf.Tensor,
        lengths: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        nodes, ends, found = descend(nodes, rest)
        numbers, lengths = tf.where(ends, found, numbers), tf.where(ends, depth + 1, lengths)
        return depth + 1, nodes, shifted(rest, -1, no_letter), numbers, lengths

    none = tf.zeros_like(nodes)
    start = tf.constant(0), nodes, letters, none - 1, none
    _, _, _, numbers, lengths = tf.while_loop(any_left, step, start)
    return numbers, lengths
