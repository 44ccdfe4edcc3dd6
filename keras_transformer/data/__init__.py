"""From a parallel corpus to padded batches: a chain of plain generators over pairs.

    open_corpus -> mixed -> shuffled -> SubwordTokenizer -> PairFilter -> bucketed
        -> TranslationBatches

Only the two ends know more than NumPy: the tokenizer, and `TranslationBatches.dataset`.
"""
