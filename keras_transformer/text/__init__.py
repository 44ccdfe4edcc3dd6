"""Subword text: the special ids, vocabularies learned and enlarged, and the in-graph tokenizer."""
