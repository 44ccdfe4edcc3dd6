"""An evaluation for a terminal."""

from collections.abc import Iterator

from keras_transformer.evaluation.evaluation import Evaluation
from keras_transformer.evaluation.tables import Table, examples_of, tables_of


def as_text(evaluation: Evaluation, details: bool = True) -> str:
    """Returns an evaluation as lines.

    Args:
        evaluation: From `evaluate`.
        details: Tell more than the scores.

    Example:
        >>> from keras_transformer.evaluation import System, evaluate
        >>> found = evaluate("toy", ["x"], ["a dog"], [System("a", ["a dog"])], samples=10)
        >>> as_text(found).splitlines()[0]
        'toy: 1 sentences'
    """
    scores, *others = tables_of(evaluation)
    lines = [*_lines_of_table(scores)]
    if details:
        for table in others:
            lines += ["", *_lines_of_table(table)]
        lines += _lines_of_examples(evaluation)
    return "\n".join(lines)


def _lines_of_examples(evaluation: Evaluation) -> Iterator[str]:
    width = max(map(len, ["reference", *evaluation.names]))
    for title, examples in examples_of(evaluation):
        yield from ("", title)
        for one in examples:
            yield f"  line {one.line}"
            yield f"    {'source':<{width}}         {one.source}"
            yield f"    {'reference':<{width}}         {one.reference}"
            rows = zip(evaluation.names, one.scores, one.translations, strict=True)
            for name, score, text in rows:
                yield f"    {name:<{width}}  {score:5.1f}  {text}"


def _lines_of_table(table: Table) -> Iterator[str]:
    yield table.title
    rows = [table.head, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join([f"  {first:<{widths[0]}}", *aligned])
    yield from (f"  {note}" for note in table.notes)
