"""One loaded export that many threads call: the answers of one thread, and no memory lost."""

import gc
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import tensorflow as tf
import thorough
from random_models import offset_logits, vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.saved_model import export_saved_model
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.translation.translator import Translator

REQUESTS, WARMUP = thorough.number((600, 300), (5_000, 500))
THREADS = 4


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_threads_get_the_answers_of_one_thread(tmp_path):
    pairs = list(open_corpus("phrasebook:train:300", "en", "de"))
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 400)
    size = dict(num_layers=1, d_model=16, d_ff=16, num_heads=1, max_length=8, norm_first=True)
    model = vary(Transformer(TransformerConfig(400, **size, tie_embeddings=False)), seed=0)
    config = DecodingConfig(beam_size=2, max_extra_tokens=2)
    translator = Translator(offset_logits(model, {EOS_ID: 6.0}), tokenizer, config=config)
    loaded = tf.saved_model.load(export_saved_model(translator, tmp_path))
    translate = loaded.signatures["serving_default"]
    rng = random.Random(0)
    sources = [source for source, _ in pairs[:60]] + ["", "\u4e2d\u6587", "the dog " * 9]
    # Single strings and small batches, of all lengths.
    requests = [rng.sample(sources, rng.choice([1, 1, 1, 3])) for _ in range(60)]

    def answer(request):
        return translate(text=tf.constant(request))["translation"].numpy().tolist()

    expected = [answer(request) for request in requests]
    assert len({line for lines in expected for line in lines}) > 20
    calls = [rng.randrange(len(requests)) for _ in range(REQUESTS)]
    wrong, memory = [], {}

    def call(number):
        which = calls[number]
        if answer(requests[which]) != expected[which]:
            wrong.append(which)
        if number == WARMUP:
            gc.collect()
            memory["before"] = resident_bytes()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(call, range(REQUESTS)))
    assert not wrong
    gc.collect()
    growth = resident_bytes() - memory["before"]
    assert growth < 16 * 2**20, f"{growth / 2**20:.1f} MiB more than after {WARMUP} requests"
