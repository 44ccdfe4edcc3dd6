"""Trains a model: `keras-transformer train` under another name.

Example: `python train.py --config configs/phrasebook.yaml --output runs/demo`.

See `python train.py --help` for every option.
"""

from keras_transformer.commands.main import run

if __name__ == "__main__":
    run("train", prog="train.py")
