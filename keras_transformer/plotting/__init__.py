"""Pictures: arrays in, a matplotlib `Figure` out.

Nothing here knows a model, and nothing keeps state in pyplot, so that a picture can be made in a
notebook, by the command `plot` or in a training.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        "Pictures need matplotlib; install it with `pip install 'keras_transformer[plot]'`"
    ) from error

from keras_transformer.plotting.alignment import plot_alignment
from keras_transformer.plotting.attention import plot_attention, plot_heads, plot_layers
from keras_transformer.plotting.batches import plot_batches
from keras_transformer.plotting.figures import png_bytes, require_picture, save_figure
from keras_transformer.plotting.history import plot_history
from keras_transformer.plotting.masks import plot_masks
from keras_transformer.plotting.positions import (
    plot_position_curves,
    plot_position_products,
    plot_positions,
)
from keras_transformer.plotting.schedule import plot_schedules

__all__ = [
    "plot_alignment",
    "plot_attention",
    "plot_batches",
    "plot_heads",
    "plot_history",
    "plot_layers",
    "plot_masks",
    "plot_position_curves",
    "plot_position_products",
    "plot_positions",
    "plot_schedules",
    "png_bytes",
    "require_picture",
    "save_figure",
]
