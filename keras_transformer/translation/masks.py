"""The masks of a pair of sentences, as a model with self-attention has them, to be looked at."""

import numpy as np
import numpy.typing as npt
from keras import ops

from keras_transformer.decoding.scoring import shift_right
from keras_transformer.layers.masks import DecoderMask, PaddingMask
from keras_transformer.layers.restricted_attention import RestrictedSelfAttention
from keras_transformer.runs.run import Run
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID, PAD_ID

# A mask, bool `[queries, keys]`, the queries and the keys.
Masked = tuple[npt.NDArray[np.bool_], list[str], list[str]]


def masks_of(run: Run, source: str, translation: str, padding: int = 0) -> dict[str, Masked]:
    """Gives the masks of the three uses of attention.

    Args:
        run: Tells the vocabularies, and the window of restricted self-attention if it has one.
        source: The sentence.
        translation: Its translation.
        padding: Padding of either side.

    Returns:
        The masks of "encoder", "decoder" and "cross" with the tokens of their axes.

    Raises:
        ValueError: If `padding` is negative, or the run's model has no self-attention.

    Example:
        >>> from keras_transformer.runs.run import open_run
        >>> run = open_run("runs/demo")
        >>> mask, queries, keys = masks_of(run, "a dog", "ein Hund", padding=1)["cross"]
        >>> bool(mask[:, -1].any())
        False
    """
    if padding < 0:
        raise ValueError(f"`padding` must be at least 0. Received: padding={padding}")
    if not hasattr(run.config.model, "num_heads"):
        raise ValueError(
            "`run` must be one of a model with self-attention, of which these masks are. Received: "
            f"{run.path}"
        )
    source_ids = _ids(run.source_tokenizer, source, padding)
    # As in a batch: the decoder reads no eos.
    target_ids = np.asarray(shift_right(_ids(run.target_tokenizer, translation, padding)))
    target_ids = np.where(target_ids == EOS_ID, PAD_ID, target_ids)
    sources = _pieces(run.source_tokenizer, source_ids)
    targets = _pieces(run.target_tokenizer, target_ids)
    window = getattr(run.config.model, "window", None)

    def matrix(mask: npt.NDArray[np.bool_], queries: list[str], keys: list[str]) -> Masked:
        return np.broadcast_to(mask, (len(queries), len(keys))), queries, keys

    real = ops.convert_to_numpy(PaddingMask()(source_ids))[0, 0]
    encoder = real & _near(len(sources), window, causal=False)
    decoder = ops.convert_to_numpy(DecoderMask()(target_ids))[0, 0]
    return {
        "encoder": matrix(encoder, sources, sources),
        "decoder": matrix(decoder & _near(len(targets), window, causal=True), targets, targets),
        "cross": matrix(real, targets, sources),
    }


def _near(length: int, window: int | None, causal: bool) -> npt.NDArray[np.bool_]:
    """Says which positions each sees of a neighbourhood, `[length, length]`; None is all."""
    if window is None:
        return np.ones((length, length), bool)
    layer = RestrictedSelfAttention(1, 1, 1, window=window, causal=causal)
    band = np.ones((1, 1, length, window), np.float32)
    return ops.convert_to_numpy(layer.weights_matrix(band))[0, 0] > 0


def _ids(tokenizer: SubwordTokenizer, text: str, padding: int) -> npt.NDArray[np.int32]:
    ids = tokenizer.tokenize([text]).to_tensor().numpy()
    return np.pad(ids, [(0, 0), (0, padding)], constant_values=PAD_ID)


def _pieces(tokenizer: SubwordTokenizer, ids: npt.NDArray[np.int32]) -> list[str]:
    """Names ids, padding as the vocabulary does."""
    names = [piece.decode() for piece in tokenizer.to_pieces(ids)[0].numpy()]
    return [name or tokenizer.pieces[PAD_ID] for name in names]
