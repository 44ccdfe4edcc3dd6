"""Exports a trained run: `keras-transformer export` under another name.

Example: `python export.py runs/demo --output exports/demo` writes the SavedModel `exports/demo/1/`,
which takes strings and gives strings.
"""

from keras_transformer.commands.main import run

if __name__ == "__main__":
    run("export", prog="export.py")
