"""The peer of training benchmarks: PyTorch's `nn.Transformer` with the paper's ends."""

import math

import torch
from torch import nn

from keras_transformer import TransformerConfig
from keras_transformer.layers.positional_encoding import sinusoidal_table


class TorchTransformer(nn.Module):
    """`nn.Transformer` with one matrix for embeddings and logits, and sinusoidal positions.

    Args:
        config: The shape; post-norm, with a joint vocabulary.

    Call arguments:
        source: int64 `[batch, source_length]`, padded with 0.
        target: int64 `[batch, target_length]`.

    Returns:
        Logits `[batch, target_length, vocab_size]`.

    Example:
        >>> model = TorchTransformer(TransformerConfig.preset("tiny", vocab_size=1000))
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        table = torch.from_numpy(sinusoidal_table(config.max_length, config.d_model))
        self.register_buffer("positions", table, persistent=False)
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        padding, length = source == 0, target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        hidden = self.transformer(
            self._embed(source),
            self._embed(target),
            tgt_mask=later,
            # Padding of the target comes last, so that what is before it does not see it.
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return hidden @ self.embedding.weight.T

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(vectors + self.positions[: ids.shape[1]].to(vectors.dtype))


def smoothed_loss(logits: torch.Tensor, labels: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Returns the label-smoothed cross-entropy, the mean over real tokens."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1).float(), labels.flatten(), ignore_index=0, label_smoothing=epsilon
    )
