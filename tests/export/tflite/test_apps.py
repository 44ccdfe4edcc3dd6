"""The file in the runtimes of apps: the same translations in Python, C and a browser."""

import contextlib
import http.server
import json
import os
import runpy
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hostile import HOSTILE
from random_models import offset_logits, vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.export.tflite import export_tflite
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.translation.translator import Translator

EXAMPLES = Path(__file__).parents[3] / "examples"
PAGE = ("index.html", "page.js", "translator.js", "worker.js")
# What `make -C examples/web runtime` puts there, once.
RUNTIME = EXAMPLES / "web" / "build" / "litert"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
NOTE = "  (cut: too long for the model)"
SECONDS = 120
# Types lines into the page, and posts what it shows.
HARNESS = """<!doctype html><meta charset="utf-8"><iframe src="index.html"></iframe>
<script type="module">
const page = document.querySelector('iframe');
const $ = (id) => page.contentDocument.getElementById(id);
const until = async (happened) => {
  while (!happened()) await new Promise((resolve) => setTimeout(resolve, 5));
};
const post = (result) => fetch('result', {method: 'POST', body: JSON.stringify(result)});
try {
  await until(() => $('text') && (!$('text').disabled || $('note').textContent.includes('cannot')));
  const shown = [];
  for (const line of LINES) {
    $('note').textContent = '';
    $('text').value = line;
    $('text').dispatchEvent(new Event('input'));
    await until(() => $('note').textContent);
    shown.push([$('translation').textContent, $('note').textContent.includes('cut')]);
  }
  await post(shown);
} catch (error) {
  await post(`${error}`);
}
</script>"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pairs = list(open_corpus("phrasebook:train:200", "en", "de"))
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 300)
    size = dict(num_layers=1, d_model=32, d_ff=32, num_heads=2, max_length=16)
    config = TransformerConfig(300, **size, tie_embeddings=False, norm_first=True)
    model = offset_logits(vary(Transformer(config), 0), {EOS_ID: 14.0})
    translator = Translator(model, tokenizer, config=DecodingConfig(beam_size=1, min_length=2))
    folder = export_tflite(translator, tmp_path_factory.mktemp("exports"), quantization="int8")
    return folder / "translator.tflite"


@pytest.fixture(scope="module")
def lines():
    odd = [line.decode("utf-8", "replace") for line in HOSTILE]
    odd = [line for line in odd if not {*"\r\n"} & {*line}]
    return [source for source, _ in open_corpus("phrasebook:test", "en", "de")][:200] + odd


@pytest.fixture(scope="module")
def expected(model, lines):
    """By the Python example, of which `test_exporting.py` shows what it gives."""
    example = runpy.run_path(str(EXAMPLES / "python" / "translate_tflite.py"))
    translate = example["Translator"](str(model))
    found = [translate(line) for line in lines]
    assert len({translation for translation, _ in found}) > 20
    assert 0 < sum(truncated for _, truncated in found) < len(found)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="examples/c_tflite links as Linux does")
@pytest.mark.skipif(not shutil.which("make"), reason="examples/c_tflite is built by make")
@pytest.mark.skipif(not shutil.which("cc"), reason="examples/c_tflite needs a C compiler, cc")
def test_in_c(model, lines, expected, tmp_path):
    options = [f"BUILD={tmp_path}", f"PYTHON={sys.executable}", "CFLAGS=-Werror"]
    subprocess.run(["make", "-C", EXAMPLES / "c_tflite", *options], check=True)
    done = subprocess.run(
        [tmp_path / "translate", model],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    found = [(line.removesuffix(NOTE), line.endswith(NOTE)) for line in done.stdout.split("\n")]
    assert found[:-1] == expected


@pytest.mark.skipif(not BROWSER, reason="there is no Chromium")
@pytest.mark.skipif(not RUNTIME.is_dir(), reason="`make -C examples/web runtime` was not run")
def test_in_a_browser(model, lines, expected, tmp_path):
    for name in PAGE:
        shutil.copy(EXAMPLES / "web" / name, tmp_path)
    (tmp_path / "litert").symlink_to(RUNTIME)
    shutil.copy(model, tmp_path)
    content = HARNESS.replace("LINES", json.dumps(lines).replace("</", "<\\/"))
    (tmp_path / "harness.html").write_text(content, "utf-8")
    with served(tmp_path) as (address, posted), browser(f"{address}/harness.html", tmp_path):
        assert posted.wait(SECONDS), "the page did not answer"
    assert [tuple(shown) for shown in posted.content] == expected


class Posted(threading.Event):
    """What a page posts."""

    content = None


@contextlib.contextmanager
def served(folder):
    """Serves a folder on this machine, and takes what is posted."""
    posted = Posted()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def log_message(self, *args):
            pass

        def do_POST(self):
            posted.content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()
            posted.set()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", posted
        server.shutdown()


@contextlib.contextmanager
def browser(address, folder):
    """Opens a page in a browser of its own, without a window."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    process = subprocess.Popen(
        [BROWSER, *options, f"--user-data-dir={folder / 'profile'}", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait()
