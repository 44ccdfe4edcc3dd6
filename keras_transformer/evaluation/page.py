"""An evaluation as one HTML file that needs nothing else."""

import html
from collections.abc import Iterator, Sequence

from keras_transformer.evaluation.evaluation import Evaluation
from keras_transformer.evaluation.examples import Example
from keras_transformer.evaluation.tables import Table, examples_of, tables_of

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { font-weight: bold; text-align: start; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #8886; text-align: end; }
th:first-child, td:first-child { text-align: start; }
.sentences { width: 100%; }
.sentences td, .sentences th { text-align: start; vertical-align: top; }
.sentences td:nth-child(2) { text-align: end; font-variant-numeric: tabular-nums; }
.sentences tbody tr:first-child > * { border-top: 2px solid #8888; }
small { display: block; }
"""


def as_page(evaluations: Sequence[Evaluation]) -> str:
    """Returns evaluations as a page.

    All that comes from systems and corpora is escaped, and nothing is loaded from elsewhere.

    Args:
        evaluations: From `evaluate`.

    Example:
        >>> from keras_transformer.evaluation import System, evaluate
        >>> found = evaluate("toy", ["<x>"], ["a dog"], [System("a", ["a dog"])], samples=10)
        >>> "&lt;x&gt;" in as_page([found])
        True
    """
    body = "\n".join(part for one in evaluations for part in _parts(one))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n<title>Evaluation</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Evaluation</h1>\n{body}\n</body>\n"
        "</html>\n"
    )


def _parts(evaluation: Evaluation) -> Iterator[str]:
    yield f"<h2>{html.escape(evaluation.corpus)}</h2>"
    yield from map(_table, tables_of(evaluation))
    for title, examples in examples_of(evaluation):
        yield f"<h3>{html.escape(title)}</h3>"
        yield '<table class="sentences">'
        yield from (_example(evaluation.names, one) for one in examples)
        yield "</table>"


def _table(table: Table) -> str:
    head = _row("th", table.head)
    rows = "\n".join(_row("td", row) for row in table.rows)
    notes = "".join(f"<small>{html.escape(note)}</small>" for note in table.notes)
    caption = html.escape(table.title)
    return (
        f"<table>\n<caption>{caption}</caption>\n<thead>{head}</thead>\n<tbody>\n{rows}\n"
        f"</tbody>\n</table>\n{notes}"
    )


def _row(kind: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"


def _example(names: Sequence[str], one: Example) -> str:
    rows = [
        (f"line {one.line}", "", one.source),
        ("reference", "", one.reference),
        *zip(names, (f"{score:.1f}" for score in one.scores), one.translations, strict=True),
    ]
    # Each in the direction of its own script.
    cells = "\n".join(
        f"<tr><th>{html.escape(name)}</th><td>{score}</td>"
        f'<td dir="auto">{html.escape(text)}</td></tr>'
        for name, score, text in rows
    )
    return f"<tbody>\n{cells}\n</tbody>"
