"""An imported run beside the original in transformers, on lines of the user's.

What is compared: the ids of each line; the logits at each position of the original's own greedy
translation, given as the target; and that translation itself.
"""

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.decoding.scoring import shift_right
from keras_transformer.importing.checkpoint import read_json
from keras_transformer.runs.run import Run
from keras_transformer.text.vocabulary import BOS_ID, PAD_ID
from keras_transformer.translation.opening import open_runs

Ids = npt.NDArray[np.int32]

MOST_TOKENS = 128
# Twice float32's rounding over a deep model; a fault is larger by far.
_TOLERANCE = 1e-3


def verify(run: Run, source: str | os.PathLike[str], lines: str | os.PathLike[str]) -> str:
    """Compares a run with the folder that it was imported from.

    Args:
        run: The run.
        source: The folder, of Hugging Face's.
        lines: A file of lines in the source's language; those that are too long do not count.

    Returns:
        What was found, in words.

    Raises:
        ImportError: If transformers or PyTorch is not installed.
        ValueError: If `source` is no such folder, no line of the file can be compared, or tokens or
            logits differ; the message says what.

    Example:
        >>> print(verify(run, "opus-mt-en-de", "lines.en"))  # doctest: +SKIP
    """
    require_verifiable(source, lines)
    original, model = _Original(os.fspath(source), run), open_runs(run).models[0]
    language = run.config.decoding.target_language
    tag = f">>{language}<< " if language in run.source_tokenizer.tags else ""
    texts = [f"{tag}{line}" for line in _lines_of(lines)]
    compared = other_tokens = other_translations = 0
    largest = 0.0
    for text in texts:
        ids = run.source_tokenizer.tokenize([text]).to_tensor().numpy()
        if ids.shape[1] > model.config.max_length:
            continue
        compared += 1
        other_tokens += ids[0].tolist() != original.tokenize(text)
        target, logits = original.translate(text)
        inputs = {"source": ids, "target": np.asarray(shift_right(target[np.newaxis]))}
        ours = np.asarray(model(inputs, training=False))[0]
        # Without pad and bos, which the original may not have.
        ours, logits = (np.delete(x, (PAD_ID, BOS_ID), axis=1) for x in (ours, logits))
        largest = max(largest, float(np.abs(ours - logits).max(initial=0.0)))
        other_translations += bool((ours.argmax(1) != logits.argmax(1)).any())
    if not compared:
        raise ValueError(
            f"`lines` must hold lines of at most {model.config.max_length} tokens, to be compared; "
            f"give shorter ones. Received: {len(texts)} in {os.fspath(lines)}, all longer"
        )
    report = (
        f"{compared} lines beside transformers: {other_tokens} of other tokens, logits that "
        f"differ by {largest:.2g} at most, {other_translations} with another token first"
    )
    if other_tokens or largest > _TOLERANCE:
        raise ValueError(f"The run must be what `source` is; do not use it. Received: {report}")
    return report


def require_verifiable(source: str | os.PathLike[str], lines: str | os.PathLike[str]) -> None:
    """Checks, before a run is written, that it can be compared with its source.

    Args:
        source: As for `verify`.
        lines: As for `verify`.

    Raises:
        FileNotFoundError: If `lines` is no file.
        ImportError: If transformers or PyTorch is not installed.
        ValueError: If `source` is no MarianMTModel's folder, or the file has no line with text.

    Example:
        >>> require_verifiable("opus-mt-en-de", "lines.en")  # doctest: +SKIP
    """
    told = Path(source) / "config.json"
    if not told.is_file() or read_json(told).get("model_type") != "marian":
        raise ValueError(
            "`source` must be a MarianMTModel's folder of Hugging Face's to be compared, which has "
            "a config.json that says so; leave --verify out for others. Received: "
            f"{os.fspath(source)}"
        )
    if not Path(lines).is_file():
        raise FileNotFoundError(f"`lines` must be a file of text. Received: {os.fspath(lines)}")
    if not _lines_of(lines):
        raise ValueError(
            "`lines` must hold lines of the source's language; give a file with some. Received: "
            f"{os.fspath(lines)}, which has no text"
        )
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(_NEEDS)


_NEEDS = "--verify needs transformers and PyTorch: pip install transformers torch"


def _lines_of(path: str | os.PathLike[str]) -> list[str]:
    try:
        text = Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"`lines` must be a file in UTF-8; convert it. Received: {os.fspath(path)}, {error}"
        ) from error
    return [line for line in text.split("\n") if line.strip()]


class _Original:
    """The original, which speaks in the ids of the run."""

    def __init__(self, source: str, run: Run) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise ImportError(_NEEDS) from error
        self._torch = torch
        self._model: Any = transformers.MarianMTModel.from_pretrained(source).eval()
        self._tokenizer: Any = transformers.MarianTokenizer.from_pretrained(source)
        self._source_ids = _ours(self._tokenizer.encoder, run.source_tokenizer.pieces)
        target = {piece: number for number, piece in self._tokenizer.decoder.items()}
        self._target_ids = _ours(target, run.target_tokenizer.pieces)
        self._target_ids[self._model.config.decoder_start_token_id] = BOS_ID

    def tokenize(self, text: str) -> list[int]:
        """Returns the ids of a text."""
        return self._source_ids[self._tokenizer(text).input_ids].tolist()

    def translate(self, text: str) -> tuple[Ids, npt.NDArray[np.float32]]:
        """Returns the greedy translation of a text, and the logits before each of its tokens."""
        inputs = self._tokenizer([text], return_tensors="pt")
        with self._torch.no_grad():
            most = min(MOST_TOKENS, self._model.config.max_position_embeddings)
            ids = self._model.generate(**inputs, num_beams=1, do_sample=False, max_length=most)
            logits = self._model(**inputs, decoder_input_ids=ids[:, :-1]).logits[0].numpy()
        ours = np.zeros((len(logits), 1 + self._target_ids.max()), np.float32)
        ours[:, self._target_ids] = logits
        return self._target_ids[ids[0, 1:].numpy()], ours


def _ours(theirs: dict[str, int], pieces: list[str]) -> Ids:
    """Returns for each of their ids ours; PAD_ID where we have no such piece."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    ours = np.zeros(len(theirs), np.int32)
    for piece, number in theirs.items():
        ours[number] = ids.get(piece, PAD_ID)
    return ours
