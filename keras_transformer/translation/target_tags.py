"""Every piece of a text begins with the tag of the language that the whole text asks for.

A text that is too long is translated in pieces, each of which the model must be told about anew.
"""

import tensorflow as tf

from keras_transformer.text.tokenizer import SubwordTokenizer


class TargetTags:
    """The language tags of a source vocabulary.

    Args:
        tokenizer: The source's tokenizer.
        target_language: The language of texts that begin with no tag.

    Raises:
        ValueError: If the vocabulary has tags, and none for `target_language`; the message lists
            the languages. Or if it has none, and a language is asked for.

    Example:
        >>> TargetTags(tokenizer, None).length  # of a vocabulary without tags
        0
    """

    def __init__(self, tokenizer: SubwordTokenizer, target_language: str | None) -> None:
        known = tokenizer.tags
        if not known and target_language is not None:
            raise ValueError(
                "`target_language` must be None for a vocabulary without language tags; leave it "
                f"out. Received: {target_language!r}"
            )
        if known and target_language not in known:
            raise ValueError(
                f"`target_language` must be one of those that the model knows: {', '.join(known)}. "
                f"Received: {target_language!r}"
            )
        self._ids = list(known.values())
        # What the search is given first, where a text says nothing else.
        self.default = [] if target_language is None else [known[target_language]]

    @property
    def length(self) -> int:
        """Tokens that a tag takes of each piece: 1, or 0 without tags."""
        return len(self.default)

    def cut_off(
        self, tokens: tf.RaggedTensor, owners: tf.Tensor | None = None
    ) -> tuple[tf.Tensor | None, tf.RaggedTensor]:
        """Parts lines from their tags.

        Args:
            tokens: int32 ragged `[lines, (tokens)]`, each row ending with eos.
            owners: The text that each line belongs to, int64 `[lines]`, in order; None for a text
                a line.

        Returns:
            The tag of each, its own, that of the first line of its text, or the default, int32
            `[lines, 1]`, or None without tags; and the rest.
        """
        if not self.default:
            return None, tokens
        starts = tokens.row_starts()
        first = tf.gather(tokens.flat_values, starts)
        own = tf.reduce_any(first[:, None] == self._ids, axis=1)
        rows = tokens.value_rowids()
        is_first = tf.range(tf.size(rows, tf.int64)) == tf.gather(starts, rows)
        kept = tf.boolean_mask(tokens.flat_values, ~(is_first & tf.gather(own, rows)))
        lengths = tokens.row_lengths() - tf.cast(own, tf.int64)
        rest = tf.RaggedTensor.from_row_lengths(kept, lengths, validate=False)
        tags = tf.where(own, first, self.default)
        if owners is not None:
            # A text asks once, at its start, and a model is told anew with each line.
            tags = tf.where(own, tags, tf.gather(tags, tf.searchsorted(owners, owners)))
        return tags[:, None], rest

    def put_before(
        self, tags: tf.Tensor | None, tokens: tf.RaggedTensor, owners: tf.Tensor | None = None
    ) -> tf.RaggedTensor:
        """Begins each row that has text with a tag.

        Args:
            tags: From `cut_off`, `[batch, 1]`.
            tokens: int32 ragged `[rows, (tokens)]`, each row ending with eos.
            owners: Which tag is that of a row, int64 `[rows]`; None for its own.

        Returns:
            int32 ragged `[rows, (tokens)]`.
        """
        if tags is None:
            return tokens
        tags = tags if owners is None else tf.gather(tags, owners)
        has_text = tokens.row_lengths()[:, None] > 1
        return tf.concat([tf.ragged.boolean_mask(tags, has_text), tokens], axis=1)
