"""The models that the layers make up."""

from keras_transformer.models.transformer import Transformer

__all__ = ["Transformer"]
