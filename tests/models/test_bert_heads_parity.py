"""BERT's heads against those of transformers, with the same weights."""

import numpy as np
import pytest
from references import to_numpy

from keras_transformer.importing.bert import fill, read_bert
from keras_transformer.models.bert_heads import SpanFinder, TextClassifier, TokenTagger
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.text.wordpiece import SPECIAL, WordPieceTokenizer

SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 30}
IDS = np.array([[2, 8, 9, 3, 10, 11, 3], [2, 12, 3, 13, 3, 0, 0]])
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]])


@pytest.mark.parametrize(
    ("theirs", "ours", "head"),
    [
        ("BertForSequenceClassification", TextClassifier, "classifier"),
        ("BertForTokenClassification", TokenTagger, "classifier"),
        ("BertForQuestionAnswering", SpanFinder, "qa_outputs"),
    ],
)
def test_the_same_logits(theirs, ours, head, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        **SIZES, num_attention_heads=4, num_labels=2, attn_implementation="eager"
    )
    reference = getattr(transformers, theirs)(config).eval()
    for name, weight in reference.named_parameters():
        # Biases and norms too are other than at the beginning.
        weight.data = torch.randn_like(weight) * 0.2 + ("LayerNorm.weight" in name)
    reference.save_pretrained(tmp_path)
    pieces = [*SPECIAL, *map("w{}".format, range(SIZES["vocab_size"] - len(SPECIAL)))]
    WordPieceTokenizer(pieces).save(tmp_path)
    checkpoint = read_bert(tmp_path)
    encoder = MaskedLanguageModel(checkpoint.config)
    fill(encoder, checkpoint.weights)
    model = ours(checkpoint.config, 2)
    model.bert.set_weights(encoder.bert.get_weights())
    weights = getattr(reference, head)
    model.head.kernel.assign(weights.weight.detach().numpy().T)
    model.head.bias.assign(weights.bias.detach().numpy())
    with torch.no_grad():
        outputs = reference(
            torch.tensor(IDS),
            attention_mask=torch.tensor(IDS != 0),
            token_type_ids=torch.tensor(SEGMENTS),
        )
    found = to_numpy(model({"ids": IDS, "segments": SEGMENTS}, training=False))[..., 1:]
    if ours is SpanFinder:
        expected = np.stack([outputs.start_logits.numpy(), outputs.end_logits.numpy()], axis=1)
        real = np.broadcast_to((IDS != 0)[:, None, :], expected.shape)
    elif ours is TokenTagger:
        expected = outputs.logits.numpy()
        real = np.broadcast_to((IDS != 0)[:, :, None], expected.shape)
    else:
        expected = outputs.logits.numpy()[:, None, :]
        real = np.ones(expected.shape, bool)
    np.testing.assert_allclose(found[real], expected[real], atol=2e-5)
