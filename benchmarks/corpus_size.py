"""What a training with nothing but a corpus reaches, for corpora of different sizes.

`python benchmarks/corpus_size.py phrasebook:train:2000 phrasebook:train:20000 --test
phrasebook:test --output runs/sizes` trains on each corpus with what the rules choose, and prints
BLEU beside that of a translation word by word in the order of the source, by a lexicon of the same
pairs, of the first 20,000 at most: IBM Model 1 (Brown et al., 1993, section 4.1). Other options,
such as `--time 10m`, are those of `train.py`. A training that was interrupted goes on.
"""

import argparse
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_transformer.data.corpora import Corpus, open_corpus
from keras_transformer.evaluation.bleu import score_corpus
from keras_transformer.runs.history import read_history

ROOT = Path(__file__).resolve().parents[1]
LEXICON_PAIRS = 20_000
_WORD = re.compile(r"\w+|[^\w\s]")

Words = list[str]


def main() -> None:
    """Trains on each corpus, and prints a row for it."""
    arguments, options = _parse()
    rows = []
    for spec in arguments.corpora:
        run = arguments.output / re.sub(r"\W+", "_", spec)
        train = [str(ROOT / "train.py"), "--data.train", spec, "--output", str(run)]
        train += ["--data.source_language", arguments.source]
        train += ["--data.target_language", arguments.target]
        subprocess.run([sys.executable, *train, *options], check=True)
        rows.append(_row(arguments, spec, run))
    print("| corpus | pairs | epochs | loss, first and last epoch | BLEU | word by word |")
    print("|---|---|---|---|---|---|", *rows, sep="\n")


def _row(arguments: argparse.Namespace, spec: str, run: Path) -> str:
    losses = read_history(run / "history.csv")["loss"]
    evaluate = ["-m", "keras_transformer", "evaluate", str(run), arguments.test, "--json"]
    [corpus] = json.loads(subprocess.check_output([sys.executable, *evaluate], text=True))
    bleu = corpus["comparisons"][0]["estimates"][0]["score"]
    train = open_corpus(spec, arguments.source, arguments.target)
    test = open_corpus(arguments.test, arguments.source, arguments.target)
    pairs = sum(1 for _ in train)
    baseline = word_by_word(train, test)
    loss = f"{losses[0]:.2f}, {losses[-1]:.2f}"
    return f"| `{spec}` | {pairs:,} | {len(losses)} | {loss} | {bleu:.2f} | {baseline:.2f} |"


def word_by_word(train: Corpus, test: Corpus) -> float:
    """Returns BLEU of the translation in which each word stands for one of the source."""
    learned_from = itertools.islice(train, LEXICON_PAIRS)
    best = lexicon([(_words(source), _words(target)) for source, target in learned_from])
    translations, references = [], []
    for source, reference in test:
        translations.append(" ".join(best.get(word, word) for word in _words(source)))
        references.append(reference)
    return score_corpus(translations, references).bleu


def lexicon(pairs: Sequence[tuple[Words, Words]], iterations: int = 5) -> dict[str, str]:
    """Returns the most likely translation t(f | e) of each source word by IBM Model 1."""
    # Each word of a target with each of its source: e, f, and the number of that word.
    links = [
        (word, other, token)
        for token, (source, other) in enumerate(
            (source, word) for source, target in pairs for word in target
        )
        for word in source
    ]
    sources, targets, tokens = map(np.asarray, zip(*links, strict=True))
    source_words, source_ids = np.unique(sources, return_inverse=True)
    target_words, target_ids = np.unique(targets, return_inverse=True)
    kinds, kind = np.unique(source_ids * len(target_words) + target_ids, return_inverse=True)
    kind_sources = kinds // len(target_words)
    probabilities = np.ones(len(kinds))
    for _ in range(iterations):
        likely = probabilities[kind]
        counts = np.bincount(kind, likely / np.bincount(tokens, likely)[tokens])
        probabilities = counts / np.bincount(kind_sources, counts)[kind_sources]
    # Of a source word the kind that is written last is the most likely one.
    order = np.argsort(probabilities, kind="stable")
    return {
        str(source_words[kind_sources[place]]): str(target_words[kinds[place] % len(target_words)])
        for place in order
    }


def _words(line: str) -> Words:
    return _WORD.findall(line)


def _parse() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("corpora", nargs="+", help="training corpora")
    parser.add_argument("--test", required=True, help="corpus that is translated")
    parser.add_argument("--source", default="en", help="language of the sources")
    parser.add_argument("--target", default="de", help="language of the targets")
    parser.add_argument("--output", type=Path, required=True, help="folder of the runs")
    return parser.parse_known_args()


if __name__ == "__main__":
    main()
