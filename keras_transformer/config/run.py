"""Everything that determines a run, in sections.

A task has a class of its own, with the sections that it needs: `RunConfig` is translation's. What
trains, keeps and resumes a run needs no more of it than `RunSections` has.
"""

import dataclasses
from types import MappingProxyType

from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.config.labelled import (
    ClassificationConfig,
    PairsConfig,
    SpansConfig,
    TagsConfig,
)
from keras_transformer.config.masked_lm import MaskedLMConfig
from keras_transformer.config.model import Seq2SeqConfig
from keras_transformer.config.sections import RunSections
from keras_transformer.config.tokenizer import TokenizerConfig
from keras_transformer.config.training import TrainingConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.config.validation import ValidationConfig


@dataclasses.dataclass(frozen=True)
class RunConfig(RunSections):
    """Everything that determines a run of the task "translation".

    Args:
        model: The model; its `vocab_size` is the size of the vocabulary that is learned.
        tokenizer: The subword tokenizer.
        data: The corpora.
        training: The training regime.
        decoding: How translations are searched. BLEU after each epoch is that of greedy search,
            which ranks checkpoints as well and takes a fraction of the time.
        validation: What is measured and shown after each epoch.
    """

    task = "translation"
    ranking = ("val_bleu", "-val_loss", "-loss")
    floors = MappingProxyType({"val_bleu": 1.0})  # Of 100.

    model: Seq2SeqConfig = TransformerConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()
    validation: ValidationConfig = ValidationConfig()


# The configuration of each task by its name; `keras_transformer.tasks` has what each does.
RUN_CONFIGS: dict[str, type[RunSections]] = {
    config.task: config
    for config in (
        # A line for each.
        RunConfig,
        MaskedLMConfig,
        ClassificationConfig,
        PairsConfig,
        SpansConfig,
        TagsConfig,
    )
}
