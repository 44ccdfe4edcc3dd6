"""What a parallel corpus has in it, and what is wrong with it, before anybody trains on it.

    sample (a first reading) -> what is usual: trigrams and scripts of each side, ratio of lengths
    chunks (a second one)    -> each `Check` counts what it finds and keeps the first examples
    some lines (a third one) -> the text of what only the whole corpus tells: what is there twice

Of a corpus's text memory holds the sample and a chunk; beside those, 16 bytes for each pair, and as
many again while what is there twice is looked for.
"""

from keras_transformer.data.inspection.findings import Example, Finding
from keras_transformer.data.inspection.inspection import Inspection, find_overlaps, inspect_corpus

__all__ = ["Example", "Finding", "Inspection", "find_overlaps", "inspect_corpus"]
