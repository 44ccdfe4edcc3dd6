"""What a run directory holds: `run.json`, tokenizers, checkpoints, their mean, the history."""
