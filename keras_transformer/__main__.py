"""`python -m keras_transformer COMMAND`: the command line under another name."""

from keras_transformer.commands import main as commands


def main() -> None:
    """Parses the command line and runs the command."""
    commands.main(prog="python -m keras_transformer", name="keras_transformer")


if __name__ == "__main__":
    main()
