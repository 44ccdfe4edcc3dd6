"""What is served: runs and SavedModels, by name and version, as sets of signatures.

A run has the signatures that its export would have, from the same code. One that translates has two
more, which need its model, for the page: `alternatives` and `attention_of_layer`.
"""

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.endpoint.errors import RequestError
from keras_transformer.endpoint.signature import Signature
from keras_transformer.export.formats import require_loadable
from keras_transformer.export.metadata import describe, describe_predictor, read_metadata
from keras_transformer.export.predictions import prediction_signatures
from keras_transformer.export.saved_model import make_signatures
from keras_transformer.export.versions import find_export
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks.labelled.predicting import open_graph, predicts
from keras_transformer.translation.columns import compile_columns
from keras_transformer.translation.exploring import alternatives, attention_of_layer
from keras_transformer.translation.graph import TranslationGraph
from keras_transformer.translation.opening import open_runs
from keras_transformer.translation.storage import StoredWeights


@dataclasses.dataclass(frozen=True)
class ServedModel:
    """A version of a model.

    Args:
        name: Its name in requests.
        version: Its number.
        signatures: What it computes, by name.
        metadata: What the `metadata.json` of an export says.
        owner: What has to live as long as the signatures do.

    Example:
        >>> languages = {"source": "en", "target": "de"}
        >>> ServedModel("demo", 1, {}, {"languages": languages}, owner=None).languages
        ('en', 'de')
    """

    name: str
    version: int
    signatures: Mapping[str, Signature]
    metadata: Mapping[str, Any]
    owner: object

    def signature(self, name: str) -> Signature:
        """Finds a signature.

        Raises:
            RequestError: If there is none of this name.
        """
        if name not in self.signatures:
            raise RequestError(f"Serving signature name: {name[:100]!r} not found in signature def")
        return self.signatures[name]

    @property
    def languages(self) -> tuple[str, str] | None:
        """Codes of the source's and the target's language; None if an export does not say.

        A model of several target languages is served for one of them. If it is what its corpus has
        as the source, then the model translates both ways.
        """
        found = self.metadata.get("languages")
        if not found:
            return None
        source, target = found["source"], found["target"]
        asked = self.metadata.get("decoding", {}).get("target_language") or target
        return (target if asked == source else source, asked)

    def warm_up(self, signatures: Sequence[str] = ("serving_default", "nbest")) -> None:
        """Calls signatures that take texts alone: the first call of a graph takes seconds."""
        for name in signatures:
            signature = self.signatures.get(name)
            if signature and all(spec.dtype == tf.string for spec in signature.inputs.values()):
                signature(dict.fromkeys(signature.inputs, np.array([b"1 2 3."], object)))


class ServedModels:
    """Models by name and version.

    Args:
        models: The models.

    Raises:
        ValueError: If two have the same name and version, or one a name that no route can have.

    Example:
        >>> versions = [ServedModel("demo", version, {}, {}, None) for version in (9, 10)]
        >>> ServedModels(versions).find("demo").version
        10
    """

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._versions: dict[str, dict[int, ServedModel]] = {}
        for model in models:
            if "/" in model.name or ":" in model.name:  # No route could name it.
                raise ValueError(
                    "`models` must have names without / and :, name them as in `NAME=PATH`. "
                    f"Received: {model.name}"
                )
            versions = self._versions.setdefault(model.name, {})
            if model.version in versions:
                raise ValueError(
                    "`models` must differ in name or version; name them as in `NAME=PATH`. "
                    f"Received: {model.name}, version {model.version}, more than once"
                )
            versions[model.version] = model

    def __iter__(self) -> Iterator[ServedModel]:
        """Yields the newest version of each model, in the order in which they were given."""
        return (versions[max(versions)] for versions in self._versions.values())

    def versions(self, name: str) -> list[ServedModel]:
        """Returns all versions of a model, the newest first; none if there is no such model."""
        return [model for _, model in sorted(self._versions.get(name, {}).items(), reverse=True)]

    def find(self, name: str, version: int | None = None) -> ServedModel:
        """Finds a model.

        Args:
            name: Its name.
            version: Its version; None for the newest.

        Raises:
            RequestError: If there is none.
        """
        found = [model for model in self.versions(name) if version in (None, model.version)]
        if not found:
            asked = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise RequestError(f"Servable not found for request: {asked}", HTTPStatus.NOT_FOUND)
        return found[0]


def open_model(
    path: str | os.PathLike[str],
    name: str | None = None,
    checkpoint: str = "best",
    options: Mapping[str, Any] | None = None,
) -> ServedModel:
    """Opens a run, or an export to a SavedModel.

    Args:
        path: A run directory; a version of an export, or a folder of versions, of which the highest
            is meant.
        name: Its name in requests; None for that of its folder.
        checkpoint: As in `open_runs`, of a run.
        options: As in `open_runs`, of a run that translates.

    Raises:
        FileNotFoundError: If there is neither.
        ValueError: If it is an export of another format, a run that neither translates nor
            predicts, or options are given for what does not take them.

    Example:
        >>> sorted(open_model("runs/demo").signatures)[:3]
        ['alternatives', 'attention', 'attention_of_layer']
    """
    export = find_export(path)
    if export is None:
        run = open_run(path)
        return _open_run(run, name or run.path.resolve().name, checkpoint, options)
    folder, export_format = export
    if export_format != "saved_model":
        raise ValueError(
            "`path` must be a run or an export to a SavedModel; serve the run that this one was "
            f"exported from. Received: {folder}, which is {export_format}"
        )
    if options or checkpoint != "best":
        raise ValueError(
            "An exported model answers as it was exported; serve its run to choose options. "
            f"Received: {folder}, with {', '.join(options or ['checkpoint'])}"
        )
    return _open_saved_model(folder.resolve(), name)


def _open_run(
    run: Run, name: str, checkpoint: str, options: Mapping[str, Any] | None
) -> ServedModel:
    owner: tuple[object, ...]
    if predicts(run):
        _require_no_options(run, options)
        graph, weights = open_graph(run, checkpoint)
        functions = prediction_signatures(graph)
        metadata, owner = describe_predictor(run, graph), (graph, weights, functions)
    else:
        translator = open_runs(run, checkpoint, options)
        weights = StoredWeights(translator.models)
        functions = {**make_signatures(translator, weights), **_for_page(translator.graph)}
        metadata, owner = describe(translator), (translator, weights, functions)
    signatures = {
        key: Signature.of(key, function.get_concrete_function())
        for key, function in functions.items()
    }
    return ServedModel(name, 1, signatures, metadata, owner)


def _require_no_options(run: Run, options: Mapping[str, Any] | None) -> None:
    if options:
        raise ValueError(
            "Options of decoding are for models that translate; leave them out. Received: "
            f"{run.path}, of the task {run.config.task!r}, with {', '.join(options)}"
        )


def _for_page(graph: TranslationGraph) -> dict[str, Any]:
    return {
        "alternatives": compile_columns(
            functools.partial(alternatives, graph), text=tf.string, prefix=tf.string
        ),
        "attention_of_layer": compile_columns(
            functools.partial(attention_of_layer, graph),
            **dict(text=tf.string, translation=tf.string, layer=tf.int32),
        ),
    }


def _open_saved_model(folder: Path, name: str | None) -> ServedModel:
    import tensorflow_text  # noqa: F401  registers the tokenizer's ops

    require_loadable(folder)
    is_version = folder.name.isdecimal()
    loaded = tf.saved_model.load(folder)
    return ServedModel(
        name or (folder.parent if is_version else folder).name,
        int(folder.name) if is_version else 1,
        {key: Signature.of(key, function) for key, function in loaded.signatures.items()},
        read_metadata(folder),
        loaded,
    )
