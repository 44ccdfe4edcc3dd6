"""From a parallel corpus to padded batches: a chain of plain generators over pairs.

    open_corpus -> Mixture -> shuffled -> Sharing.part -> PairPreprocessor -> bucketed
        -> TranslationBatches

`PairPreprocessor` calls the tokenizers and the `PairFilter`; `fit_plan` makes the batch shapes
beforehand. Only the tokenizers and `TranslationBatches.dataset` need more than NumPy.
"""
