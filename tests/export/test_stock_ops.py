"""Exports hold only operations that the oldest supported server runs: those of `stock_ops.txt`."""

import pytest
from random_models import vary
from stock_ops import STOCK, nodes_of

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

# Servers that lack it log that they ignore it, and lose a name in messages.
HARMLESS = {"VarHandleOp.debug_name"}

SEARCH = dict(coverage_penalty=0.2, min_length=2, no_repeat_ngram=3, banned_pieces=("d",))
SAMPLING = dict(sampling=True, num_hypotheses=2, top_k=5, top_p=0.9)
OTHER_MODEL = dict(norm_first=True, positions="learned", tie_embeddings=False)
OTHER_MODEL |= dict(window=3, attention_score="cosine")


# Between them, what the options add to a graph.
@pytest.fixture(
    scope="module",
    params=[({}, SEARCH, None), (OTHER_MODEL, SAMPLING, "bfloat16")],
    ids=["search", "sampling-bfloat16"],
)
def nodes(request, tmp_path_factory):
    model_options, decoding_options, quantization = request.param
    tokenizer = SubwordTokenizer.train(["the cat sat", "the dog ran"], 20)
    size = dict(num_layers=1, d_model=8, d_ff=8, num_heads=1, max_length=8)
    model = vary(Transformer(TransformerConfig(vocab_size=20, **size, **model_options)), seed=0)
    translator = Translator(model, tokenizer, config=DecodingConfig(**decoding_options))
    folder = tmp_path_factory.mktemp("exports")
    return nodes_of(export_saved_model(translator, folder, quantization=quantization))


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
