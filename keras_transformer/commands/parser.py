"""What all commands have in common: how they are described, parsed, helped with and refused."""

import argparse
import dataclasses
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from jsonargparse import ArgumentParser, Namespace

from keras_transformer.commands.recipe_loader import MODE

# Commands of scripts that are called with Python.
_SCRIPT = re.compile(r"(?=\w+\.py\b)")


class Parser(ArgumentParser):
    """Parses the options of a command.

    An option is given by its whole name, and what is refused is told in one line.

    Args:
        prog: How the command is called.
        summary: What it does.
        details: More about it.
        usage: Its arguments, as a person writes them.
        example: Arguments for an example.
    """

    def __init__(self, prog: str, summary: str, details: str, usage: str, example: str) -> None:
        super().__init__(prog=prog, usage=f"%(prog)s {usage}", allow_abbrev=False, parser_mode=MODE)
        self._optionals.title = "general"
        self._about = f"{summary} {details}".strip()
        self._example = f"Example: {_SCRIPT.sub('python ', prog, count=1)} {example}".rstrip()

    def add_section(self, kind: type, name: str) -> None:
        """Adds the fields of a dataclass as a group of options `--name.field`."""
        self.add_class_arguments(kind, name)
        # jsonargparse takes the docstring's first line for the title.
        group = (self.groups or {})[name]
        group.title, group.description = name, f"{group.title}."

    def format_help(self, *formatter: Any) -> str:
        """Returns what the command does, an example, and the options in their groups."""
        width = min(shutil.get_terminal_size().columns, 80) - 2
        about = textwrap.fill(self._about, width, break_on_hyphens=False)
        return f"{about}\n\n{self._example}\n\n{super().format_help(*formatter)}"

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Ends the process with a line that says what is wrong.

        Raises:
            SystemExit: Always, with the exit code of a wrong usage.
        """
        message = re.sub(r'Parser key "([\w.]+)":\s*', r"argument --\1: ", message)
        message = re.sub(r"Expected an? (?:<class '(\w+)'>|typing\.)", r"Expected \1", message)
        self.exit(2, f"{self.prog}: error: {one_line(message)} (see --help)\n")


def one_line(text: object) -> str:
    """Returns the lines of a text as one.

    Example:
        >>> one_line("must be positive.\\n  Received: 0")
        'must be positive. Received: 0'
    """
    return " ".join(filter(None, map(str.strip, str(text).splitlines())))


@dataclasses.dataclass(frozen=True)
class Command:
    """A command.

    Args:
        name: What calls it.
        summary: What it does, in a sentence that fits a line.
        usage: Its arguments, as a person writes them.
        example: Arguments for an example.
        parse: Adds its options to a parser, and parses arguments with it.
        run: Does it, with the values of the options.
        details: More about it.
    """

    name: str
    summary: str
    usage: str
    example: str
    parse: Callable[[Parser, Sequence[str]], Namespace]
    run: Callable[[Namespace], None]
    details: str = ""

    def parsed(self, arguments: Sequence[str], prog: str) -> Namespace:
        """Parses arguments.

        Args:
            arguments: The arguments that follow the command.
            prog: How the command is called.

        Raises:
            SystemExit: If an argument is refused, or help was asked for.
        """
        parser = Parser(prog, self.summary, self.details, self.usage, self.example)
        parser.add_argument(
            "--verbose",
            action="store_true",
            default=argparse.SUPPRESS,
            help="Show what TensorFlow prints when it starts, and its warnings.",
        )
        parser.add_argument(
            "--traceback",
            action="store_true",
            default=argparse.SUPPRESS,
            help="Show where an error comes from.",
        )
        return self.parse(parser, arguments)
