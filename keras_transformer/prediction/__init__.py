"""Strings in, predictions out: what a fine-tuned model says of a text.

A graph for each kind of prediction, which validation runs and exports hold, as `translation` has
one for translating.
"""
