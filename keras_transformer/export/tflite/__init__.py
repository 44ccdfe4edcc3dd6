"""The translator as one file for an app or a browser, run by TFLite's stock runtime."""

from keras_transformer.export.tflite.exporting import IDS_MODEL, TEXT_MODEL, export_tflite
from keras_transformer.export.tflite.translator import LiteTranslator

__all__ = ["IDS_MODEL", "TEXT_MODEL", "LiteTranslator", "export_tflite"]
