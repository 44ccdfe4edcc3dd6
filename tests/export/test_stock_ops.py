"""Exports hold only operations that the oldest supported server runs: those of `stock_ops.txt`."""

from pathlib import Path

import pytest
from random_models import vary
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

LINES = (Path(__file__).parent / "stock_ops.txt").read_text("utf-8").splitlines()
STOCK = {
    operation: attributes
    for operation, *attributes in map(str.split, LINES)
    if not operation.startswith("#")
}

# Servers that lack it log that they ignore it, and lose a name in messages.
HARMLESS = {"VarHandleOp.debug_name"}

SEARCH = dict(coverage_penalty=0.2, min_length=2, no_repeat_ngram=3, banned_pieces=("d",))
SAMPLING = dict(sampling=True, num_hypotheses=2, top_k=5, top_p=0.9)
OTHER_MODEL = dict(norm_first=True, positions="learned", tie_embeddings=False)


# Between them, what the options add to a graph.
@pytest.fixture(
    scope="module",
    params=[({}, SEARCH, None), (OTHER_MODEL, SAMPLING, "bfloat16")],
    ids=["search", "sampling-bfloat16"],
)
def nodes(request, tmp_path_factory):
    """The nodes of an export's graph and of its functions, but for calls by a function's name."""
    model_options, decoding_options, quantization = request.param
    tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], 20)
    size = dict(num_layers=1, d_model=8, d_ff=8, num_heads=1, max_length=8)
    model = vary(Transformer(TransformerConfig(vocab_size=20, **size, **model_options)), seed=0)
    translator = Translator(model, tokenizer, config=DecodingConfig(**decoding_options))
    path = export_saved_model(
        translator, tmp_path_factory.mktemp("exports"), quantization=quantization
    )
    saved = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    functions = {function.signature.name for function in graph.library.function}
    nodes = [*graph.node, *(n for function in graph.library.function for n in function.node_def)]
    return [node for node in nodes if node.op not in functions]


def test_operations_are_known(nodes):
    unknown = {node.op for node in nodes} - set(STOCK)
    assert not unknown, f"a stock server runs no {', '.join(sorted(unknown))}"


def test_attributes_are_known(nodes):
    """An attribute is saved if it differs from its default; a server ignores those it lacks."""
    unknown = {
        f"{node.op}.{name}"
        for node in nodes
        for name in node.attr
        if not name.startswith("_") and name not in STOCK.get(node.op, node.attr)
    }
    unknown -= HARMLESS
    assert not unknown, f"a stock server ignores {', '.join(sorted(unknown))}"
