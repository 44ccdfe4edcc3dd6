"""`keras-transformer backtranslate`: text of one language becomes a corpus to train on."""

import glob
from collections.abc import Sequence

from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_batches_option,
    add_checkpoint_option,
    add_decoding_options,
    add_model_argument,
    given_decoding_options,
    open_quietly,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.console import say
from keras_transformer.files import require_local


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    add_model_argument(parser, nargs="+", several=", or several that decide together")
    parser.add_argument(
        "--text",
        metavar="FILE",
        required=True,
        help="UTF-8 text, a sentence a line, plain or with gzip.",
    )
    parser.add_argument(
        "--output",
        metavar="PATH",
        required=True,
        help="The corpus: PATH.LANGUAGE for the text and for its translations.",
    )
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("TEXT", "TRANSLATION"),
        help="Codes of the languages, which end the files' names; by default those that the model "
        "translates from and into.",
    )
    add_batches_option(parser)
    add_checkpoint_option(parser)
    add_decoding_options(parser)
    parsed = parser.parse_args(arguments)
    if getattr(parsed, "num_hypotheses", 1) != 1:
        parser.error(
            "argument --num_hypotheses: must be 1, as a line of a corpus has one translation; "
            f"call again for another one. Received: {parsed.num_hypotheses}"
        )
    return parsed


def _run(arguments: Namespace) -> None:
    from pathlib import Path

    from keras_transformer.data.corpora import read_lines

    require_local(arguments.output, "output")
    options = given_decoding_options(arguments)
    translator = open_quietly(
        arguments.model,
        arguments.checkpoint,
        options,
        batches_at_once=arguments.batches_at_once,
    )
    from keras_transformer.export.opening import languages_of
    from keras_transformer.translation.synthetic import write_synthetic_corpus

    languages = tuple(arguments.languages or languages_of(arguments.model[0]))
    into = options.get("target_language")
    if languages[0] == languages[1] or (
        not arguments.languages and into not in (None, languages[1])
    ):
        raise ValueError(
            "`languages` must be given, as in --languages de en, where the model translates into "
            f"another language than it says. Received: {' and '.join(languages)}, {into}"
        )
    _require_new(arguments.output, languages)
    # An export does not tell which training it is of.
    origin = [getattr(translator, "origin", arguments.model), arguments.checkpoint, options]
    lines = read_lines(Path(arguments.text))
    write_synthetic_corpus(translator, lines, arguments.output, languages, origin)
    say(f"Written: {arguments.output}. Next: train with --data.mix '{{{arguments.output}: 1}}'")


def _require_new(prefix: str, languages: Sequence[str]) -> None:
    """Refuses to write over a corpus, or beside one that would then be hidden."""
    from pathlib import Path

    text, translations = (Path(f"{prefix}.{language}") for language in languages)
    is_begun = any(translations.parent.glob(f".{glob.escape(translations.name)}.*.part"))
    names = [translations, *([] if is_begun else [text])]
    for path in [*names, *(Path(f"{name}.gz") for name in (text, translations))]:
        if path.exists():
            raise FileExistsError(
                f"`output` must be the prefix of a corpus that is not there yet. Received: {path}"
            )


COMMAND = Command(
    "backtranslate",
    summary="Make a corpus of a text and its translations, to train on.",
    details="For a model from A to B, translate text of B with a model from B to A: the sources "
    "are then made up and the targets are not. With --sampling they are more varied. What was "
    "written before an interruption is kept.",
    usage="MODEL --text FILE --output PATH [options]",
    example="runs/de_en --text news.de --output new",
    parse=_parse,
    run=_run,
)
