"""Strings in, strings out: what validation, evaluation and every export translate with."""
