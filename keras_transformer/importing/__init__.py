"""Other toolkits' checkpoints become ordinary runs: Marian's own files, and Hugging Face's of it.

A format reads its files into a `Checkpoint`, `fill` gives its weights to a model, and `import_run`
writes the run. All is read and checked before anything is written.
"""
