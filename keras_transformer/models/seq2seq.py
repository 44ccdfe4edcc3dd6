"""What a model must do to be searched, scored, validated and exported as a translator.

`Seq2Seq` is all that `decoding`, `translation` and `export` know of a model. A family that has its
methods translates with every search and is written in every format but CTranslate2's, which is
another engine with models of its own.
"""

from typing import Any, Protocol

import keras

from keras_transformer.config.model import Seq2SeqConfig
from keras_transformer.tensors import Tensor


class Seq2Seq(Protocol):
    """A model of source and target ids that also decodes step by step.

    Ids are 0 for padding, 1 unknown, 2 the start and 3 the end of a sentence. A source ends with 3;
    a target is shifted by one and begins with 2. Whatever the family, `decode_step` gives the
    logits that a call gives at the same position, and padding changes nothing.

    All variables exist from construction on, which takes the configuration or, as a saved model
    gives it, a mapping of its fields; `get_config` returns the latter.

    Attributes:
        config: The family's configuration.
        weights: What an export stores.

    Reference:
        `models/transformer_decoding.py` is the Transformer's.
    """

    config: Seq2SeqConfig

    @property
    def weights(self) -> list[keras.Variable]:
        """All variables but states of random numbers and metrics."""

    def count_params(self) -> int:
        """Returns the number of parameters."""

    def __call__(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Gives the logits of all target positions at once.

        Args:
            inputs: "source", int `[batch, source_length]`, and "target", int
                `[batch, target_length]`.
            training: Whether dropout is active.

        Returns:
            float32 logits `[batch, target_length, vocab_size]`.
        """

    def start_decoding(
        self,
        source: Tensor,
        max_length: int | Tensor,
        beam_size: int = 1,
        coverage: bool = False,
    ) -> Any:
        """Encodes a source and prepares the state for `decode_step`.

        Args:
            source: int `[batch, source_length]`.
            max_length: Steps to make room for, an int or a scalar tensor; `resize_decoding` can
                make more.
            beam_size: Hypotheses of each sentence.
            coverage: Whether to sum up what each hypothesis attends to, for the method `coverage`.

        Returns:
            A nested structure of tensors.
        """

    def decode_step(self, tokens: Tensor, parents: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Gives the logits of each hypothesis's next token.

        Args:
            tokens: int `[batch, beam]`, the newest token of each hypothesis.
            parents: int `[batch, beam]`, which hypothesis of the last step each one continues.
            state: From `start_decoding` or the last `decode_step`.

        Returns:
            float32 logits `[batch, beam, vocab_size]` and the new state, of the same structure.
        """

    def resize_decoding(self, state: Any, rows: Tensor, max_length: int | Tensor) -> Any:
        """Keeps some of the sentences and makes room for more steps.

        Args:
            state: From `start_decoding` or `decode_step`.
            rows: int `[kept]`, the sentences to keep.
            max_length: Steps to have room for, at least as many as now.

        Returns:
            The state of those sentences.
        """

    def fix_decoding(self, begun: Any, state: Any, length: int) -> Any:
        """Gives a state shapes that are the same for every source.

        Args:
            begun: From `start_decoding`, of the source's own length.
            state: `begun`, or what steps made of it after a length before was given to it.
            length: Source tokens and steps to have room for; of a longer source, so many are left.

        Returns:
            The state, whose shapes follow from `length`, batch and beam.
        """

    def coverage(self, state: Any) -> tuple[Tensor, Tensor]:
        """Tells how much attention each source token has got so far.

        Args:
            state: Of a decoding that was started with `coverage`.

        Returns:
            float `[batch, beam, source_length]`, and which of these are real tokens, bool,
            broadcastable to it.
        """

    def attention_weights(self, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        """Gives all attention weights that the family has, to be looked at.

        Args:
            inputs: As for a call.

        Returns:
            For each layer of "cross", and where they are those of a Transformer of "encoder" and
            "decoder", float `[batch, heads, query_length, key_length]`.
        """

    def alignment(self, inputs: dict[str, Tensor]) -> Tensor:
        """Gives the attention weights that tell best which source token a target token is from.

        Args:
            inputs: As for a call.

        Returns:
            float32 `[batch, heads, target_length, source_length]`.
        """

    def vocabulary_matrices(self) -> dict[str, list[keras.Variable]]:
        """Returns the matrices that have a row for each piece of the "source" and the "target".

        A run that starts from another one's weights with a larger vocabulary adds rows to them.
        """
