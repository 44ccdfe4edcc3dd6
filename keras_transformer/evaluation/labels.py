"""How good predicted labels and numbers are, by scikit-learn and SciPy."""

import math
from collections.abc import Sequence

from keras_transformer.extras import needed


def require_packages() -> None:
    """Checks, before a training, that what follows it can be scored.

    Raises:
        ImportError: If scikit-learn, which brings SciPy, is not installed.
    """
    with needed("Scoring labels or numbers", "scikit-learn", "metrics"):
        import sklearn  # noqa: F401


def score_labels(predictions: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """Scores predicted labels.

    Args:
        predictions: The labels that were predicted.
        labels: The right ones.

    Returns:
        "accuracy"; "f1", the mean of the F1 of each label; and "matthews", Matthews' correlation
        coefficient, which is 0 for guesses and 1 for no error.

    Raises:
        ImportError: If scikit-learn is not installed.

    Example:
        >>> scores = score_labels(["a", "b", "b", "b"], ["a", "a", "b", "b"])
        >>> {name: round(score, 3) for name, score in scores.items()}
        {'accuracy': 0.75, 'f1': 0.733, 'matthews': 0.577}
    """
    with needed("Scoring labels", "scikit-learn", "metrics"):
        from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
    return {
        "accuracy": float(accuracy_score(labels, predictions)),
        "f1": float(f1_score(labels, predictions, average="macro", zero_division=0.0)),
        "matthews": float(matthews_corrcoef(labels, predictions)),
    }


def score_numbers(predictions: Sequence[float], numbers: Sequence[float]) -> dict[str, float]:
    """Scores predicted numbers, as GLUE does those of STS-B.

    Args:
        predictions: The numbers that were predicted.
        numbers: The right ones.

    Returns:
        "pearson" and "spearman", the correlation of the numbers and of their ranks; 0 where all
        numbers are the same, or there is one.

    Raises:
        ImportError: If SciPy is not installed.

    Example:
        >>> scores = score_numbers([1.0, 2.0, 10.0], [1.0, 2.0, 3.0])
        >>> {name: round(score, 3) for name, score in scores.items()}
        {'pearson': 0.912, 'spearman': 1.0}
    """
    with needed("Scoring numbers", "scipy", "metrics"):
        from scipy.stats import pearsonr, spearmanr
    if len({*predictions}) < 2 or len({*numbers}) < 2:
        return {"pearson": 0.0, "spearman": 0.0}
    found = {
        "pearson": float(pearsonr(predictions, numbers).statistic),
        "spearman": float(spearmanr(predictions, numbers).statistic),
    }
    return {name: 0.0 if math.isnan(score) else score for name, score in found.items()}
