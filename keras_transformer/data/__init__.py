"""From a parallel corpus to padded batches: a chain of plain generators over pairs.

    open_corpus -> Mixture -> shuffled -> Sharing.part -> PairPreprocessor -> bucketed
        -> TranslationBatches

`PairPreprocessor` calls the tokenizers and the `PairFilter`; `fit_plan` makes the batch shapes
beforehand. `prepared` does the tokenizers' work once: then places of pairs take the same way, and
`PreparedPairs` looks their ids up. Only the tokenizers and `TranslationBatches.dataset` need more
than NumPy.
"""
