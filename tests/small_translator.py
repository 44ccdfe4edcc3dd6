"""Small translators with models at random, for exports to be compared with them."""

from random_models import offset_logits, vary

from keras_transformer import Transformer, TransformerConfig
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.translation.translator import Translator

LINES = ["the cat sat", "a dog ran", "the old dog sat down", "cats", "a cat ran down", "dogs sat"]
TARGETS = ["die Katze lief", "ein Hund saß", "der alte Hund setzte sich hin", "Katzen", "Hunde"]
SIZE = dict(num_layers=2, d_model=16, d_ff=32, num_heads=2, max_length=12)


def train_tokenizers():
    """Of the source, of the target, and joint."""
    sizes = {"source": (LINES, 30), "target": (TARGETS, 36), "joint": (LINES + TARGETS, 50)}
    return {side: SubwordTokenizer.train(lines, size) for side, (lines, size) in sizes.items()}


def small_translator(tokenizers, separate, offsets, *options, **overrides):
    """Makes one; `offsets` go to the logits of ids, `options` to `Translator`."""
    source, target = ("source", "target") if separate else ("joint", "joint")
    sizes = {"vocab_size": tokenizers[target].vocab_size}
    if separate:
        sizes["source_vocab_size"] = tokenizers[source].vocab_size
    config = TransformerConfig(**sizes, **{**SIZE, **overrides})
    model = offset_logits(vary(Transformer(config), seed=0), offsets)
    return Translator(model, tokenizers[source], tokenizers[target], *options)
