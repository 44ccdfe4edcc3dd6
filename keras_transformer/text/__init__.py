"""Subword text: the special ids, the training of a vocabulary and the in-graph tokenizer."""
