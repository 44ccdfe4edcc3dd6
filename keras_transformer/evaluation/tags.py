"""How good tags are: word by word, and by entity where tags begin and go on with one.

An entity is right if its type and both of its ends are (CoNLL-2003). seqeval, which counts so, can
no longer be installed from its one release of 2020 without a package that it does not name.
"""

from collections.abc import Iterable, Iterator, Sequence

# Type, first word and last word.
Entity = tuple[str, int, int]

_OUTSIDE = "O"


def score_tags(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Scores the tags of sentences.

    Args:
        predictions: The tags that were predicted, of each sentence.
        references: The right ones.

    Returns:
        "accuracy", of words. Where the right tags are "O", "B-TYPE" and "I-TYPE", also "precision",
        "recall" and "f1", of entities.

    Raises:
        ValueError: If a sentence has other numbers of tags in the two.

    Example:
        >>> right = [["B-PER", "I-PER", "O", "B-LOC"]]
        >>> scores = score_tags([["B-PER", "O", "O", "B-LOC"]], right)
        >>> scores["accuracy"], scores["f1"]
        (0.75, 0.5)

    Reference:
        "Introduction to the CoNLL-2003 Shared Task", https://aclanthology.org/W03-0419
    """
    pairs = [
        pair
        for found, right in zip(predictions, references, strict=True)
        for pair in zip(found, right, strict=True)
    ]
    scores = {"accuracy": sum(found == right for found, right in pairs) / len(pairs)}
    if not has_entities(right for _, right in pairs):
        return scores
    found, right = ({*_of_all(sentences)} for sentences in (predictions, references))
    correct = len(found & right)
    return {
        **scores,
        "precision": correct / max(1, len(found)),
        "recall": correct / max(1, len(right)),
        "f1": 2 * correct / max(1, len(found) + len(right)),
    }


def has_entities(tags: Iterable[str]) -> bool:
    """Returns whether tags are those of entities: "O", "B-TYPE" and "I-TYPE".

    Example:
        >>> has_entities(["O", "B-PER"]), has_entities(["NOUN", "VERB"])
        (True, False)
    """
    return all(tag == _OUTSIDE or tag[:2] in ("B-", "I-") for tag in tags)


def entities_of(tags: Sequence[str]) -> Iterator[Entity]:
    """Yields the entities of a sentence.

    One begins with "B-TYPE", or with "I-TYPE" where none of that type goes on.

    Args:
        tags: The tags of its words.

    Example:
        >>> list(entities_of(["B-PER", "I-PER", "I-LOC", "O"]))
        [('PER', 0, 1), ('LOC', 2, 2)]
    """
    start = 0
    for index, tag in enumerate(tags):
        kind = tag[2:]
        if tag[0] == "B" or (kind and (not index or kind != tags[index - 1][2:])):
            start = index
        goes_on = tags[index + 1 : index + 2] == [f"I-{kind}"]
        if kind and not goes_on:
            yield kind, start, index


def _of_all(sentences: Sequence[Sequence[str]]) -> Iterator[tuple[int, Entity]]:
    for index, tags in enumerate(sentences):
        for entity in entities_of(list(tags)):
            yield index, entity
