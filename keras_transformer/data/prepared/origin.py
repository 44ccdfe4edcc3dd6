"""What a prepared corpus was made of, which is what it is called by."""

import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from keras_transformer.data.corpora import LinePair
from keras_transformer.data.fingerprint import Fingerprint
from keras_transformer.data.held_out import sentences_of

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import SubwordTokenizer

# Counted up when the layout of the folder changes.
_LAYOUT = 1


@dataclasses.dataclass(frozen=True)
class Origin:
    """Everything that the ids of a corpus depend on.

    Args:
        corpus: The corpus's name, which decides nothing.
        fingerprint: Of the whole corpus.
        tokenizers: Those of source and target, with the normalization that is part of them.
        held_out: Pairs whose sentences are held out of the corpus.
        tag: The language of the tag that its sources begin with; None without tags.

    Example:
        >>> origin = Origin("pairs", Fingerprint(8, "5d41"), (tokenizer, tokenizer))
        >>> len(origin.key)
        32
    """

    corpus: str
    fingerprint: Fingerprint
    tokenizers: "tuple[SubwordTokenizer, SubwordTokenizer]"
    held_out: Iterable[LinePair] = ()
    tag: str | None = None

    @property
    def key(self) -> str:
        """A hash of it, in hexadecimal."""
        decisive = {name: value for name, value in self.described().items() if name != "corpus"}
        return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:32]

    def described(self) -> dict[str, Any]:
        """Returns it as plain values, with hashes in place of what is long."""
        return {
            "corpus": self.corpus,
            "fingerprint": self.fingerprint,
            "held_out": _hash(json.dumps(sorted(sentences_of(self.held_out))).encode()),
            "vocabularies": [
                [_hash(model) for model in (tokenizer.model, tokenizer.segmentation) if model]
                for tokenizer in self.tokenizers
            ],
            "tensorflow_text": importlib.metadata.version("tensorflow_text"),
            "layout": _LAYOUT,
            # Corpora that were prepared before there were tags keep their names.
            **({} if self.tag is None else {"tag": self.tag}),
        }


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
