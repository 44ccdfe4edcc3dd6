"""Corpora of several target languages in one model: each source says which language it asks for.

The tag of OPUS-MT, `>>de<<`, begins the source, and the vocabulary has a piece for it
(`text/tags.py`).
"""

import dataclasses
from collections.abc import Iterator

from keras_transformer.data.corpora import Corpus, LinePair
from keras_transformer.data.weights import weighed_like
from keras_transformer.text.tags import tag_of


def tagged(corpus: Corpus) -> Corpus:
    """Returns a corpus of which each source begins with the tag of its target's language.

    Args:
        corpus: The corpus.

    Example:
        >>> pairs = Corpus("pairs", lambda: iter([("a", "A")]), target_language="de")
        >>> list(tagged(pairs))
        [('>>de<< a', 'A')]

    Reference:
        "Google's Multilingual Neural Machine Translation System", arXiv 1611.04558.
    """
    tag = tag_of(corpus.target_language)

    def read() -> Iterator[LinePair]:
        return (weighed_like((f"{tag} {pair[0]}", pair[1]), pair) for pair in corpus)

    return dataclasses.replace(corpus, read=read, files=())
