"""`keras-transformer serve`: models behind TF Serving's and LibreTranslate's routes, and a page."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docstring_parser import parse as parse_docstring
from jsonargparse import Namespace

from keras_transformer.commands.options import (
    add_checkpoint_option,
    add_decoding_options,
    given_decoding_options,
)
from keras_transformer.commands.parser import Command, Parser
from keras_transformer.commands.quiet import load_tensorflow, without_start_up_lines
from keras_transformer.console import say
from keras_transformer.endpoint.hosts import hosts_of
from keras_transformer.endpoint.limits import Limits
from keras_transformer.extras import needed

if TYPE_CHECKING:
    from keras_transformer.endpoint.models import ServedModel

_DEFAULT_PORT = 8501  # TF Serving's.


def _parse(parser: Parser, arguments: Sequence[str]) -> Namespace:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="A run directory, or an export to a SavedModel: a version, or the folder of its "
        "versions, of which the highest is served. Its name in requests is that of its folder, or "
        "another one: NAME=PATH.",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="Address that is answered at. Others than the default let other machines in, with "
        "no encryption, and nobody is asked who they are.",
    )
    parser.add_argument(
        "--port", type=int, default=_DEFAULT_PORT, metavar="N", help="Port; 0 for a free one."
    )
    parser.add_argument(
        "--allowed_hosts",
        nargs="+",
        default=[],
        metavar="NAME",
        help="Names that clients may ask for besides localhost, such as that of a proxy before the "
        "server; *.NAME for all below one, * for any. On loopback there are no others by default; "
        "elsewhere any will do.",
    )
    add_checkpoint_option(parser)
    _add_limits(parser)
    add_decoding_options(parser)
    return parser.parse_args(arguments)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits", "What a request may ask for.")
    described = {
        one.arg_name: one.description for one in parse_docstring(Limits.__doc__ or "").params
    }
    for field in dataclasses.fields(Limits):
        group.add_argument(
            f"--{field.name}",
            type=field.type,
            default=field.default,
            metavar="X" if field.type is float else "N",
            help=described[field.name],
        )


def _run(arguments: Namespace) -> None:
    limits = Limits(**{field.name: arguments[field.name] for field in dataclasses.fields(Limits)})
    with needed("The endpoint", "fastapi", "endpoint"):
        import prometheus_client  # noqa: F401

        from keras_transformer.endpoint.server import bind, make_server

    with bind(arguments.host, arguments.port) as address:
        host, port = address.getsockname()[:2]
        allowed_hosts = hosts_of(host, arguments.allowed_hosts)
        models = [_open(spec, arguments) for spec in arguments.models]
        from keras_transformer.endpoint.app import make_app
        from keras_transformer.endpoint.models import ServedModels
        from keras_transformer.endpoint.service import Service

        app = make_app(Service(ServedModels(models), limits), allowed_hosts)
        server = make_server(app, limits.seconds)
        url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
        names = ", ".join(model.name for model in models)
        say(f"Serving {names} at {url} (Ctrl-C ends it)")
        server.run([address])


def _open(spec: str, arguments: Namespace) -> "ServedModel":
    load_tensorflow()
    from keras_transformer.endpoint.models import open_model

    name, path = (None, spec) if Path(spec).exists() else _named(spec)
    say(f"Opening {path}, and calling it once, as the first call takes a moment ...")
    with without_start_up_lines():
        model = open_model(path, name, arguments.checkpoint, given_decoding_options(arguments))
        model.warm_up()
    return model


def _named(spec: str) -> tuple[str | None, str]:
    """Returns name and path of `NAME=PATH`."""
    name, found, path = spec.partition("=")
    return (name, path) if found and name else (None, path or spec)


COMMAND = Command(
    "serve",
    summary="Answer TF Serving's and LibreTranslate's clients; a page.",
    details="For development and demonstrations. Takes FastAPI and uvicorn, the extra `endpoint`.",
    usage="MODEL [MODEL ...] [options]",
    example="runs/demo --port 8501",
    parse=_parse,
    run=_run,
)
