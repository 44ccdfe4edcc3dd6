"""Formats: a translator written to disk, and what was written opened again."""
