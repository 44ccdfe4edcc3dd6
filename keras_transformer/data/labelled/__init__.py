"""Examples with labels: texts, questions about a text, and words, from files and by name.

`opening.py` finds the reader that a corpus asks for, there is a file for each format, and all of
them give the examples of `examples.py`.
"""
