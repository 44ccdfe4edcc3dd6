"""What a training step costs: the operations of its matrix products."""

from keras_transformer import TransformerConfig


def training_flops(config: TransformerConfig, rows: int, source: int, target: int) -> float:
    """Counts the matrix products of a step, two operations for a multiplication and its sum.

    The backward pass has twice the products of the forward pass.

    Example:
        >>> config = TransformerConfig.preset("base", vocab_size=37000)
        >>> round(training_flops(config, rows=776, source=32, target=32) / 1e12, 1)
        9.8
    """
    d, feed_forward = config.d_model, 2 * config.d_model * config.d_ff
    keys, values = (config.num_heads * dim for dim in (config.head_key_dim, config.head_value_dim))
    projections = d * (2 * keys + 2 * values)

    def attention(queries: int, memory: int) -> int:
        return queries * memory * (keys + values)

    encoder = source * (projections + feed_forward) + attention(source, source)
    decoder = target * (projections + feed_forward) + attention(target, target)
    # Of cross-attention, queries and outputs are the target's, keys and values the source's.
    cross = (source + target) * d * (keys + values) + attention(target, source)
    logits = target * d * config.vocab_size
    return 3 * 2 * rows * (config.num_layers * (encoder + decoder + cross) + logits)
