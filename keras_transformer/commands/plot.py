"""`keras-transformer plot`: pictures of a run, each of a kind with options of its own."""

from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.pictures import KINDS
from keras_transformer.console import write_result


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    parser.add_argument(
        "kind", metavar="KIND", choices=list(KINDS), help=f"What to draw: {', '.join(KINDS)}."
    )
    kind = KINDS.get(arguments[0] if arguments else "")
    if kind is not None:
        kind.add_arguments(parser)
        parser.add_argument(
            "--output", metavar="FILE", required=True, help="Where to: a .png or an .svg."
        )
    return parser.parse_args(arguments)


def _run(arguments: Namespace) -> None:
    from keras_transformer.plotting import require_picture, save_figure

    require_picture(arguments.output)
    save_figure(KINDS[arguments.kind].draw(arguments), arguments.output)
    write_result(arguments.output)


COMMAND = Command(
    "plot",
    summary="Draw attention, alignments, masks, curves and more of a run.",
    details="Each kind of picture has options of its own: plot KIND --help lists them. Takes "
    "matplotlib, the extra `plot`.",
    usage="KIND RUN [TEXT ...] --output FILE [options]",
    example='attention runs/demo "A dog." --output a.png',
    parse=_parse,
    run=_run,
)
