"""Texts and their numbers as a trie of characters, in which all places of a text step at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite.tables import CodePointTable, PairTable


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
