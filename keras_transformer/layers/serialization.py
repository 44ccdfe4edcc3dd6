"""The name under which this package's classes are saved in `.keras` files."""

import keras

register = keras.saving.register_keras_serializable(package="keras_transformer")
