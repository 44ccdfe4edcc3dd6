"""The models that the layers make up, and what each must do to be searched and exported."""

from keras_transformer.models.families import FAMILIES, Family, family_of, make_model
from keras_transformer.models.recurrent import RecurrentEncoderDecoder
from keras_transformer.models.seq2seq import Seq2Seq
from keras_transformer.models.transformer import Transformer

__all__ = [
    "FAMILIES",
    "Family",
    "RecurrentEncoderDecoder",
    "Seq2Seq",
    "Transformer",
    "family_of",
    "make_model",
]
