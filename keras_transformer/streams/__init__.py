"""Streams of anything that need not fit in memory."""
