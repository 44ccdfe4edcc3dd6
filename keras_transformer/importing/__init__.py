"""Other toolkits' checkpoints become ordinary runs.

Translators are Marian's own files, and Hugging Face's of it; BERT comes from Hugging Face or from
KerasHub.

A format reads its files into a `Checkpoint`, `fill` gives its weights to a model, and `import_run`
writes the run. All is read and checked before anything is written.
"""
