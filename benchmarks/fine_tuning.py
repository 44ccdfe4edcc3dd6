"""What pre-training is worth: a few labelled examples with a pre-trained BERT, and without.

    python benchmarks/fine_tuning.py runs/bert --examples 1000 --epochs 5 --seeds 3

For each built-in corpus the run's model is trained twice on the same examples, in the same order
and with the same vocabulary: once with the run's encoder, once from scratch. Scores are those of
the last epoch, on sentences with combinations of words that no training example has; the mean of
the seeds, which are those of weights and order, with their standard deviation, and that of the
differences between the two. They take turns, so that load hits both.
"""

import argparse
import dataclasses
import statistics
import tempfile
from pathlib import Path

from keras_transformer.config import PiecesConfig
from keras_transformer.config.labelled import FINE_TUNING
from keras_transformer.config.run import RUN_CONFIGS
from keras_transformer.runs.run import Run, open_run
from keras_transformer.tasks import train
from keras_transformer.text.wordpiece import VOCABULARY_FILE

# The corpora, with the task and the score of each.
CORPORA = {
    "tense": ("classification", "val_accuracy"),
    "follows": ("pairs", "val_accuracy"),
    "questions": ("spans", "val_f1"),
    "words": ("tags", "val_accuracy"),
}


def score(
    start: Run, corpus: str, pre_trained: bool, seed: int, options: argparse.Namespace
) -> float:
    """Trains on a corpus, and returns the score after the last epoch."""
    task, metric = CORPORA[corpus]
    config = RUN_CONFIGS[task]
    [data] = (field.type for field in dataclasses.fields(config) if field.name == "data")
    with tempfile.TemporaryDirectory() as folder:
        run = train(
            Path(folder) / "run",
            config(
                model=dataclasses.replace(
                    start.config.model, dropout=options.dropout, attention_dropout=options.dropout
                ),
                tokenizer=PiecesConfig(
                    vocabulary=str(start.path / VOCABULARY_FILE),
                    lowercase=start.tokenizers[0].lowercase,
                ),
                data=data(
                    train=f"phrasebook:{corpus}:train:{options.examples}",
                    valid=f"phrasebook:{corpus}:combinations:{options.tested}",
                ),
                training=dataclasses.replace(
                    FINE_TUNING,
                    epochs=options.epochs,
                    peak_learning_rate=options.rate,
                    seed=seed,
                ),
            ),
            init_from=start.path if pre_trained else None,
        )
        return run.checkpoints.latest().metrics[metric]


def row_of(start: Run, corpus: str, options: argparse.Namespace) -> str:
    """Trains on a corpus with each seed; returns a row of a Markdown table."""
    pairs = []
    for seed in range(options.seeds):
        pairs.append([score(start, corpus, each, seed, options) for each in (True, False)])
        print(f"{corpus}, seed {seed}: {pairs[-1]}", flush=True)
    columns = [*zip(*pairs, strict=True), [one - other for one, other in pairs]]
    cells = [f"{statistics.mean(c):.3f} ± {statistics.pstdev(c):.3f}" for c in columns]
    return f"| {corpus} | {CORPORA[corpus][1]} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="a run of masked_lm")
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--tested", type=int, default=500, help="examples that are scored")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=5e-4, help="the highest learning rate")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    options = parser.parse_args()
    start = open_run(options.run)
    rows = [
        "| corpus | score | pre-trained | from scratch | difference |",
        "|---|---|---|---|---|",
        *(row_of(start, corpus, options) for corpus in options.corpora),
    ]
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
