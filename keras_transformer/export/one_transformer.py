"""What formats of other engines ask for: one model, and that a Transformer."""

from keras_transformer.models.transformer import Transformer
from keras_transformer.translation.translator import Translator


def one_transformer(translator: Translator, engine: str, reason: str) -> Transformer:
    """Returns the Transformer that a translator has.

    Args:
        translator: What is exported.
        engine: Whose format it is, for the message.
        reason: Why it is to be a Transformer.

    Raises:
        ValueError: If there are several models, or it is of another family.

    Example:
        >>> model = one_transformer(translator, "CTranslate2", "CTranslate2 runs no others")
    """
    if len(translator.models) > 1:
        raise ValueError(
            f"{engine} has no ensembles; export one model. Received: {len(translator.models)}"
        )
    [model] = translator.models
    if not isinstance(model, Transformer):
        raise ValueError(f"{reason}; export to another format. Received: a {type(model).__name__}")
    return model
