"""How text is normalized before it is cut into pieces: SentencePiece's rules, and one set of ours.

`nmt_nfc` changes nothing that can be seen. It composes characters (NFC) where SentencePiece's own
`nmt_nfkc` replaces them (NFKC): full-width punctuation, fractions and superscripts stay, so that a
translation can have them. It drops what shows nothing, but for the joiners U+200C and U+200D in
scripts that need them, such as Persian, Telugu and emoji.
"""

import functools
import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.text.invisible import CONTROLS, IGNORABLE, SPACES

_JOINERS = "\u200c\u200d"
# Latin, Greek and Cyrillic, digits and punctuation: where a joiner stands beside these, it has
# nothing to join.
_WITHOUT_JOINERS = ((0x20, 0x52F), (0x1E00, 0x1FFF), (0x2000, 0x206F))
# No character beyond has a canonical decomposition.
_END = 0x30000
# Lines that are compared, and characters that are named.
_COMPARED, _NAMED = 100_000, 10


def nmt_nfc_rules() -> dict[str, str]:
    """Returns what `nmt_nfc` puts in place of what; of several that apply the longest counts.

    Example:
        >>> rules = nmt_nfc_rules()
        >>> rules["a\u0301"], rules["\u00ad"], rules["\u00a0"], "\u2026" in rules
        ('\xe1', '', ' ', False)
    """
    rules = _compositions()
    rules |= dict.fromkeys(set(_characters(IGNORABLE + CONTROLS)) - {"\0", *_JOINERS}, "")
    # SentencePiece's mark of a space, too: in a text it would be one that no kernel strips.
    rules |= dict.fromkeys({*_characters(SPACES), "\u2581"} - {" "}, " ")
    plain = set(_characters(_WITHOUT_JOINERS)) - {*_JOINERS}
    beside = {text: rules.get(text, text) for text in plain}
    beside |= {text: composed for text, composed in rules.items() if composed in plain}
    for (text, becomes), joiner in itertools.product(beside.items(), _JOINERS):
        rules[text + joiner] = rules[joiner + text] = becomes
    return rules


@functools.cache
def nmt_nfc_tsv() -> str:
    """Writes the rules as SentencePiece reads them.

    Example:
        >>> "61 301\\tE1\\n" in nmt_nfc_tsv()
        True
    """

    def codes(text: str) -> str:
        return " ".join(f"{ord(character):X}" for character in text)

    return "".join(f"{codes(old)}\t{codes(new)}\n" for old, new in sorted(nmt_nfc_rules().items()))


def make_normalizer(name: str = "nmt_nfc") -> Any:
    """Makes what normalizes as a vocabulary does that is trained with some rules.

    Args:
        name: Of the rules, as `tokenizer.normalization` has it.

    Returns:
        A `SentencePieceNormalizer`.

    Example:
        >>> make_normalizer().normalize("a\u00ad dog")
        '\u2581a\u2581dog'
    """
    import sentencepiece

    sentencepiece.set_min_log_level(2)
    if name == "nmt_nfc":
        return sentencepiece.SentencePieceNormalizer(norm_map=[*nmt_nfc_rules().items()])
    return sentencepiece.SentencePieceNormalizer(rule_name=name)


def changed_lines(processor: Any, lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Finds the lines that normalization changes, but for white space.

    Args:
        processor: A `SentencePieceProcessor`, or what `make_normalizer` gives.
        lines: The lines.

    Yields:
        Index of the line, and what it is before and after.

    Example:
        >>> list(changed_lines(make_normalizer("nmt_nfkc"), ["a  dog", "x\u00b2"]))
        [(1, 'x\xb2', 'x2')]
    """
    for index, (line, text) in enumerate(zip(lines, processor.normalize(list(lines)), strict=True)):
        before, after = " ".join(line.split()), text.replace("\u2581", " ").strip()
        if before != after:
            yield index, before, after


def describe_changes(processor: Any, lines: Sequence[str]) -> str:
    """Tells which share of lines a vocabulary's normalization changes, and which characters.

    White space is not counted.

    Args:
        processor: A `SentencePieceProcessor`, or what `make_normalizer` gives.
        lines: The lines; of many, evenly chosen ones are compared.

    Returns:
        A part of a sentence; "" if no line changes.

    Example:
        >>> import sentencepiece
        >>> processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
        >>> describe_changes(processor, ["a dog"])
        ''
    """
    lines = lines[:: 1 + len(lines) // _COMPARED]
    changed, characters = 0, Counter[str]()
    for _, before, after in changed_lines(processor, lines):
        changed += 1
        characters += Counter(before) - Counter(after)
    if not changed:
        return ""
    named = ", ".join(
        f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip() + f" ({count:,})"
        for character, count in characters.most_common(_NAMED)
    )
    return f"{changed / len(lines):.2%} of the lines, most often {named or 'white space'}"


def _compositions() -> dict[str, str]:
    """Returns the canonical equivalents of each composed character."""
    rules = {}
    for character in map(chr, range(0x80, _END)):
        parts = unicodedata.normalize("NFD", character)
        if parts == character or 0xD800 <= ord(character) < 0xE000:
            continue
        composed = unicodedata.normalize("NFC", character)
        for marks in itertools.permutations(parts[1:]):
            ordered = parts[0] + "".join(marks)
            if unicodedata.normalize("NFC", ordered) != composed:
                continue
            for cut in range(len(ordered) + 1):
                rules[unicodedata.normalize("NFC", ordered[:cut]) + ordered[cut:]] = composed
        rules[character] = composed
    return {text: composed for text, composed in rules.items() if text != composed}


def _characters(ranges: Sequence[tuple[int, int]]) -> list[str]:
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]
