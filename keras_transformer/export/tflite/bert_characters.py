"""What BERT's tokenizer makes of a character, in graph: its normal form, and if it parts words.

TF Text's kernels have rules of their own, of the Unicode version that they were built with. So they
are asked about every character there is.
"""

import functools

import numpy as np
import tensorflow as tf

from keras_transformer.export.tflite import utf8
from keras_transformer.export.tflite.tables import END, CodePointTable
from keras_transformer.export.tflite.vectors import kept, ranges

# Of a character: a part of a word, between words, and a word by itself (a sign, or Chinese).
LETTER, SPACE, SIGN = range(3)
# No character has this code: what is malformed is a letter of no vocabulary.
MALFORMED = 0xD800


class BertCharacters:
    """Reads a text as characters, normalized.

    Args:
        lowercase: Whether they become lower-case and lose their accents.

    Example:
        >>> codes, _ = BertCharacters(lowercase=True).read(tf.constant([*"\u00dcb".encode(), 0]))
        >>> "".join(map(chr, codes.numpy()[:-1]))
        'ub'
    """

    def __init__(self, lowercase: bool):
        forms = _forms(lowercase)
        self._rules = CodePointTable({code: i for i, code in enumerate(forms)}, -1)
        self._forms = np.frombuffer(b"".join(forms.values()), np.uint8)
        self._starts = np.cumsum([0, *map(len, forms.values())], dtype=np.int32)
        self._kinds = CodePointTable({**_kinds(), END: SPACE}, LETTER)

    def read(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Normalizes a text, and decodes it.

        Args:
            text: int32 `[bytes + 1]`, of which the last one is 0 and no part of the text.

        Returns:
            The code points, of which the last one is `END`, and the bytes of each, int32
            `[characters]`.
        """
        # Anew, since bytes that were apart may be a character once what was between them is gone.
        found = utf8.decode(self._normalized(text))
        read = kept(found.are_read)
        codes = tf.gather(tf.where(found.valid, found.codes, MALFORMED), read)
        return tf.concat([codes[:-1], [END]], 0), tf.gather(found.lengths, read)

    @staticmethod
    def kinds_in(text: str) -> set[int]:
        """Returns the kinds of the characters of a normalized text."""
        return {_kinds().get(ord(character), LETTER) for character in text}

    def kinds(self, codes: tf.Tensor) -> tf.Tensor:
        """Returns of each code point whether it is a `LETTER`, a `SPACE` or a `SIGN`, int32."""
        return self._kinds.lookup(codes)

    def _normalized(self, text: tf.Tensor) -> tf.Tensor:
        """Puts their normal forms in place of characters, int32 `[bytes + 1]`."""
        found, end = utf8.decode(text), tf.size(text) - 1
        places = kept(found.are_read)
        rules = self._rules.lookup(tf.gather(found.codes, places))
        has_rule = (rules >= 0) & tf.gather(found.valid, places) & (places < end)
        rules = tf.where(has_rule, rules, 0)
        # The forms stand behind the text.
        begins = tf.gather(self._starts, rules)
        sizes = tf.gather(self._starts, rules + 1) - begins
        starts = tf.where(has_rule, end + 1 + begins, places)
        sizes = tf.where(has_rule, sizes, tf.gather(found.lengths, places))
        numbers, _ = ranges(starts, sizes)
        of_forms = tf.gather(self._forms, tf.maximum(numbers - end - 1, 0))
        return tf.where(
            numbers > end, tf.cast(of_forms, tf.int32), tf.gather(text, tf.minimum(numbers, end))
        )


@functools.cache
def _characters() -> tuple[np.ndarray, tf.Tensor]:
    """Returns all code points, and their characters in UTF-8."""
    codes = np.concatenate([np.arange(0xD800), np.arange(0xE000, END)]).astype(np.int32)
    return codes, tf.strings.unicode_encode(codes[:, None], "UTF-8")


@functools.cache
def _forms(lowercase: bool) -> dict[int, bytes]:
    """Returns the normal form, in UTF-8, of each character that is none itself."""
    import tensorflow_text

    codes, characters = _characters()
    normalizer = tensorflow_text.FastBertNormalizer(lower_case_nfd_strip_accents=lowercase)
    forms = normalizer.normalize(characters)
    changed = tf.where(forms != characters)[:, 0]
    return dict(zip(codes[changed].tolist(), tf.gather(forms, changed).numpy(), strict=True))


@functools.cache
def _kinds() -> dict[int, int]:
    """Returns the kind of each character that is no letter."""
    import tensorflow_text

    codes, characters = _characters()
    tokenizer = tensorflow_text.FastWordpieceTokenizer(["[UNK]", "a"], token_out_type=tf.int32)
    pieces = tokenizer.tokenize(tf.strings.join(["a", characters, "a"])).row_lengths().numpy()
    # One word, which is unknown; or two; or three.
    kinds = np.select([pieces == 2, pieces == 3], [SPACE, SIGN], LETTER)
    others = kinds != LETTER
    return dict(zip(codes[others].tolist(), kinds[others].tolist(), strict=True))
