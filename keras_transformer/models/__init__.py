"""The models that the layers make up, and what each must do to be searched and exported."""

from keras_transformer.models.bert import Bert
from keras_transformer.models.families import FAMILIES, Family, family_of, make_model
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.models.recurrent import RecurrentEncoderDecoder
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.models.transformer import Transformer

__all__ = [
    "FAMILIES",
    "Bert",
    "Family",
    "MaskedLanguageModel",
    "RecurrentEncoderDecoder",
    "Seq2Seq",
    "Transformer",
    "family_of",
    "make_model",
]
