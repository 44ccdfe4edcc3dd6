"""The command line: `keras-transformer COMMAND`, and its other faces.

`train.py`, `export.py` and `python -m keras_transformer` are the same code under other names. The
exit code is 0 if all went well, 1 after an error, 2 after a wrong usage, and 128 plus the number of
the signal that ended the work, as shells count.
"""

import contextlib
import importlib.metadata
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.commands import (
    average,
    backtranslate,
    evaluate,
    export,
    import_,
    info,
    inspect,
    plot,
    predict,
    prepare,
    score,
    serve,
    train,
    translate,
)
from keras_transformer.commands.parser import Parser, one_line
from keras_transformer.commands.quiet import LEVEL
from keras_transformer.console import drop_unwritten, open_missing_streams, say

_SUMMARY = "Train, use and export models that translate."
_VERSION = "Show the version."

COMMANDS = {
    module.COMMAND.name: module.COMMAND
    for module in (
        train,
        prepare,
        import_,
        export,
        translate,
        predict,
        backtranslate,
        evaluate,
        score,
        serve,
        average,
        info,
        plot,
        inspect,
    )
}


def main(
    arguments: Sequence[str] | None = None,
    prog: str = "keras-transformer",
    name: str | None = None,
) -> None:
    """Runs the command that the first argument names.

    Args:
        arguments: The arguments; None for those of the process.
        prog: How this is called.
        name: What errors begin with; None for `prog` and the command.

    Raises:
        SystemExit: If there is an error, if nothing but help was asked for, or on a signal.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = arguments[0] if arguments else ""
    if command in COMMANDS:
        run(command, arguments[1:], f"{prog} {command}", name)
        return
    with _ended_well(name or prog):
        parser = _Overview(prog, _SUMMARY, "", "COMMAND [options]", "train --help")
        version = importlib.metadata.version("keras_transformer")
        parser.add_argument("--version", action="version", version=version, help=_VERSION)
        if command.startswith("-"):
            parser.parse_args([command])
        parser.error(f"COMMAND must be one of {', '.join(COMMANDS)}. Received: {command or 'none'}")


class _Overview(Parser):
    """Lists the commands."""

    def format_help(self, *formatter: Any) -> str:
        lines = [f"  {command.name:<15}{command.summary}" for command in COMMANDS.values()]
        return "\n".join([super().format_help(*formatter), "commands:", *lines, ""])


def run(
    command: str,
    arguments: Sequence[str] | None = None,
    prog: str | None = None,
    name: str | None = None,
) -> None:
    """Runs a command.

    Args:
        command: Its name.
        arguments: The arguments that follow it; None for those of the process.
        prog: How the command is called; None for its script's name.
        name: What errors begin with; None for `prog`.

    Raises:
        SystemExit: If there is an error, if nothing but help was asked for, or on a signal.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    prog = prog or f"keras-transformer {command}"
    if "--verbose" in arguments:
        os.environ.setdefault(LEVEL, "0")
    with _ended_well(name or prog, "--traceback" in arguments):
        COMMANDS[command].run(COMMANDS[command].parsed(arguments, prog))


@contextlib.contextmanager
def _ended_well(name: str, traceback: bool = False) -> Iterator[None]:
    """Ends the process in one line after an error, with the shell's code after a signal.

    Args:
        name: What errors begin with.
        traceback: Show where an error comes from.
    """
    open_missing_streams()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # Who read the output has gone.
        sys.exit(128 + signal.SIGPIPE)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except (ImportError, OSError, ValueError) as error:
        if traceback:
            raise
        say(f"{name}: error: {one_line(error)}", to="stderr")
        sys.exit(1)
    finally:
        drop_unwritten()
