"""The tag of each word of a text."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.models.bert_heads import BertWithHead
from keras_transformer.prediction.graph import Outputs, PredictionGraph
from keras_transformer.prediction.reading import characters_before, read_words
from keras_transformer.text.framing import framed, padded
from keras_transformer.translation.storage import StoredWeights


class TagGraph(PredictionGraph):
    """Tells the tags of words.

    Args:
        model: A `TokenTagger`.
        tokenizer: Its tokenizer.
        weights: What to compute with.
        labels: The tags, by their numbers.

    Example:
        >>> graph = TagGraph(tagger, wordpiece, labels=["DET", "NOUN"])
        >>> outputs = graph.predict(tf.constant(["the cats."]))
        >>> outputs["tokens"].numpy().tolist(), outputs["starts"].numpy().tolist()
        ([[b'the', b'cats', b'.']], [[0, 4, 8]])

    Reference:
        arXiv 1810.04805, Figure 4 (d).
    """

    def __init__(
        self,
        model: BertWithHead,
        tokenizer: Any,
        weights: StoredWeights | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        super().__init__(model, tokenizer, weights)
        self.labels = list(labels)

    def predict_from(self, *columns: tf.Tensor) -> Outputs:
        """Splits texts into words, and tells the tag of each.

        Args:
            *columns: string `[batch]`.

        Returns:
            "tokens" and "tags", string `[batch, words]`, "" where a text has fewer; and "starts"
            and "ends", int32 `[batch, words]`, the characters of the text that each begins and ends
            before, -1 there.
        """
        [text] = columns
        words, starts = split_into_words(text)
        tags = self.tag(words)
        of_words = tf.repeat(text, words.row_lengths())
        before = characters_before(of_words, starts.flat_values)
        after = before + tf.strings.length(words.flat_values, "UTF8_CHAR")
        return {
            "tokens": words.to_tensor(),
            "tags": tags.to_tensor(),
            "starts": words.with_flat_values(before).to_tensor(-1),
            "ends": words.with_flat_values(after).to_tensor(-1),
        }

    def tag(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Tells the tags of words that are known.

        Args:
            words: string ragged `[batch, (words)]`.

        Returns:
            string ragged `[batch, (words)]`.
        """
        pieces = read_words(self.tokenizer, self.max_length, words)
        inputs = padded(*framed(self.tokenizer, pieces.ids, length=self.max_length))
        logits = self._logits(inputs)[:, :, 1:]
        best = tf.argmax(tf.gather_nd(logits, pieces.places), axis=-1)
        return words.with_flat_values(tf.gather(tf.constant(self.labels), best))


def split_into_words(text: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Splits texts at white space, and punctuation off both ends of words, in graph.

    Args:
        text: string `[batch]`.

    Returns:
        The words, string ragged `[batch, (words)]`, and the bytes that they begin at, int32.

    Example:
        >>> split_into_words(tf.constant(["Anna's dog (3.5 kg)."]))[0].to_list()
        [[b"Anna's", b'dog', b'(', b'3.5', b'kg', b').']]
    """
    import tensorflow_text

    words, starts, _ = tensorflow_text.WhitespaceTokenizer().tokenize_with_offsets(text)
    flat = words.flat_values
    size = tf.strings.length(flat)
    begin = size - tf.strings.length(tf.strings.regex_replace(flat, r"^\p{P}+", ""))
    end = tf.maximum(begin, tf.strings.length(tf.strings.regex_replace(flat, r"\p{P}+$", "")))
    # What is before the word, the word, and what is after it.
    cuts = tf.stack([tf.zeros_like(begin), begin, end], axis=1)
    lengths = tf.stack([begin, end - begin, size - end], axis=1)
    parts = tf.strings.substr(tf.repeat(flat[:, tf.newaxis], 3, axis=1), cuts, lengths)
    places = tf.cast(starts.flat_values, tf.int32)[:, tf.newaxis] + cuts
    is_word = lengths > 0
    counts = words.with_flat_values(tf.math.count_nonzero(is_word, axis=1))
    rows = tf.reduce_sum(counts, axis=1)
    return (
        tf.RaggedTensor.from_row_lengths(tf.boolean_mask(parts, is_word), rows),
        tf.RaggedTensor.from_row_lengths(tf.boolean_mask(places, is_word), rows),
    )
