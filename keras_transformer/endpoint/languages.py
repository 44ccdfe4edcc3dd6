"""Names of languages, and which of several a text is in."""

from collections.abc import Sequence

from keras_transformer.data.inspection.identification import identifier
from keras_transformer.endpoint.errors import RequestError

_NAMES = {
    **{"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish"},
    **{"de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian"},
    **{"fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi"},
    **{"hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese"},
    **{"ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nb": "Norwegian Bokmål"},
    **{"nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian"},
    **{"sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "th": "Thai"},
    **{"tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese"},
}


def language_name(code: str) -> str:
    """Returns the English name of a language; its code if that is not among the common ones.

    Args:
        code: A code of ISO 639-1.

    Example:
        >>> language_name("de"), language_name("tlh")
        ('German', 'tlh')
    """
    return _NAMES.get(code, code)


def identify(text: str, languages: Sequence[str]) -> tuple[str, float]:
    """Tells which of several languages a text is in.

    Args:
        text: The text.
        languages: Codes of those that it can be in. A single one needs no look at the text.

    Returns:
        The code, and how sure that is, in percent: 100 for a single language. Of several, it is the
        share among them; where one of them cannot be told, among all languages there are.

    Raises:
        RequestError: If there are none, or several and py3langid is missing or knows none of them.

    Example:
        >>> identify("Der Hund schläft im Garten.", ["de"])
        ('de', 100.0)
    """
    if len(languages) == 1:
        return languages[0], 100.0
    try:
        rank = identifier().rank
    except ImportError as error:
        raise RequestError(f"Invalid request: name the source language. {error}") from None
    ranked = [(code, float(probability)) for code, probability in rank(text)]
    known = [(code, probability) for code, probability in ranked if code in languages]
    if not known:
        raise RequestError("Invalid request: name the source language; none can be told")
    code, probability = known[0]
    among = known if len(known) == len({*languages}) else ranked
    return code, round(100 * probability / max(sum(p for _, p in among), 1e-9), 1)
